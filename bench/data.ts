import { withClient } from '../src/deploy/client.js';

/** The numbers of rows of a database, spread equally over its clubs. */
export interface Size {
  clubs: number;
  members: number;
  tasks: number;
  shifts: number;
}

/** The id of a club by its number. Its last digits are in every title, so a response shows the club of its rows. */
export const clubId = (number: number): string => `00000000-0000-4000-8000-${markOf(number)}`;
export const markOf = (number: number): string => String(number).padStart(12, '0');

/** The id of a row by its number and its club's, as SQL: in ascending order, as UUIDs of version 7 are. */
export const rowId = (kind: 'task' | 'shift', number: string, club: string): string =>
  `(lpad(to_hex(${number}::integer), 8, '0') || '-0000-7000-800${kind === 'task' ? 0 : 1}-' || lpad(${club}::text, 12, '0'))::uuid`;

/** An additional club has only members: the club of the signup rush with a thousand callers. */
const statements = ({ clubs, members, tasks, shifts }: Size): string[] => [
  // A bulk load as administrator without triggers and foreign keys: the rows satisfy them by construction.
  `set session_replication_role = replica`,
  `set synchronous_commit = off`,
  `insert into app.clubs (id, name, slug, time_zone)
   select ('00000000-0000-4000-8000-' || lpad(club::text, 12, '0'))::uuid, 'Club ' || club, 'club-' || club, 'Europe/Berlin'
   from generate_series(1, ${clubs} + 1) as club`,
  `insert into app.members (tenant_id, id, external_user_id, display_name, email, role)
   select ('00000000-0000-4000-8000-' || lpad(club::text, 12, '0'))::uuid, uuidv7(),
     'caller-' || number, 'Caller ' || number, 'caller-' || number || '@example.org', 'Member'
   from generate_series(1, ${clubs} + 1) as club,
     generate_series(1, case when club > ${clubs} then 1000 else ${members} end) as number`,
  // Spread over two years, with the rows of all clubs interleaved in time.
  `with people as materialized (
     select tenant_id, array_agg(id) as ids from app.members group by tenant_id
   )
   insert into app.tasks (tenant_id, id, title, description, state, assignee_id, due_at, created_by_id, completed_at, created_at, updated_at, version)
   select people.tenant_id, ${rowId('task', 'number', 'club')},
     'Task ' || number || ' of ' || right(people.tenant_id::text, 12),
     'Described as people do, in a sentence or two that say what is wanted, by when and why; number ' || number || '.',
     chosen.state, case when chosen.state <> 'Open' then people.ids[1 + number % cardinality(people.ids)] end,
     case when number % 2 = 0 then made.at + interval '30 days' end, people.ids[1 + number % cardinality(people.ids)],
     case when chosen.state = 'Done' then made.at + interval '20 days' end, made.at, made.at, 1
   from generate_series(1, ${tasks / clubs}) as number,
     generate_series(1, ${clubs}) as club
     join people on people.tenant_id = ('00000000-0000-4000-8000-' || lpad(club::text, 12, '0'))::uuid,
     lateral (select (array['Open', 'Open', 'Assigned', 'InProgress', 'Review', 'Done', 'Done'])[1 + number % 7] as state) as chosen,
     lateral (select now() - interval '730 days' * (1 - number::float8 / ${tasks / clubs}) - club * interval '1 millisecond' as at) as made`,
  // From a hundred days before to a hundred days after now.
  `insert into app.shifts (tenant_id, id, title, location, description, starts_at, ends_at, capacity, signup_count, created_by_id)
   select ('00000000-0000-4000-8000-' || lpad(club::text, 12, '0'))::uuid, ${rowId('shift', 'number', 'club')},
     'Shift ' || number || ' of ' || lpad(club::text, 12, '0'), 'Club house', 'Bring gloves.',
     start.at, start.at + interval '2 hours', 5000, case when start.at < now() then 2 else 0 end, null
   from generate_series(1, ${clubs}) as club, generate_series(1, ${shifts / clubs}) as number,
     lateral (select now() + interval '200 days' * (number::float8 / ${shifts / clubs} - 0.5) as at) as start`,
  // Members signed up for the shifts that are over, and some did today. Plans that are made while a table is empty read all of it
  // later, for as long as the connection lives or until the table is analyzed.
  `insert into app.shift_signups (tenant_id, id, shift_id, member_id, created_by_id, created_at)
   select shift.tenant_id, uuidv7(), shift.id, member.id, member.id, shift.starts_at - interval '1 day'
   from app.shifts as shift
     join app.members as member on member.tenant_id = shift.tenant_id and member.external_user_id in ('caller-1', 'caller-2')
   where shift.signup_count > 0`,
  `insert into app.idempotency_keys (tenant_id, member_id, key, request, status, location, body, created_at)
   select tenant_id, id, gen_random_uuid(), sha256('signup'), 201, '/api/shifts/' || id || '/signup', repeat(id::text, 6), now()
   from app.members`,
  'set session_replication_role = origin',
];

/** Loads the rows into a deployed database as an administrator, and vacuums it as autovacuum would later. */
export async function loadData(adminUrl: string, size: Size): Promise<void> {
  await withClient(adminUrl, async (client) => {
    // Indexes are created after the rows, which is several times faster.
    const { rows: indexes } = await client.query<{ name: string; definition: string }>(
      `select index.indexrelid::regclass::text as name, pg_get_indexdef(index.indexrelid) as definition
       from pg_index as index
       where index.indrelid in ('app.tasks'::regclass, 'app.shifts'::regclass)
         and not exists (select from pg_constraint where conindid = index.indexrelid)`,
    );
    const drops = indexes.map(({ name }) => `drop index ${name}`);
    const makes = indexes.map(({ definition }) => definition);
    for (const statement of [
      ...drops,
      ...statements(size),
      ...makes,
      'vacuum (freeze, analyze)',
      'checkpoint',
    ]) {
      await client.query(statement);
    }
  });
}
