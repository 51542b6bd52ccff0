import t from 'tap';
import { attendanceOrders, listAttendance, listHours, nameOrders } from '../../src/attendance/queries.js';
import { findCalendar } from '../../src/calendar/queries.js';
import { hashOf } from '../../src/calendar/secret.js';
import type { Query } from '../../src/database/sql.js';
import { eventOrders, listEvents } from '../../src/events/queries.js';
import { listMembers, memberOrders } from '../../src/members/queries.js';
import type { KeyKind } from '../../src/resource/cursor.js';
import type { Order, Page } from '../../src/resource/pagination.js';
import { listShifts, shiftOrders } from '../../src/shifts/queries.js';
import { listTasks, taskOrders } from '../../src/tasks/queries.js';
import { makeDatabase } from '../setup/database.js';
import { prepared, readStatementOf } from '../setup/read-statement.js';
import { connectAsRuntime } from '../setup/runtime.js';
import { callerOf } from '../setup/work.js';

// The plans of the service's own statements, with the service's role, in one club with 100,000 tasks. Small
// tables are scanned sequentially with any indexes, so the test needs a large one.
const TASKS = 100_000;
const SHIFTS = 20_000;
const MEMBERS = 2_000;
const EVENTS = 100_000;
/** Of attendance, over two years: about ten for each member, of a shift every 53 minutes. */
const RECORDS = 20_000;
const LINKS = 20_000;
/** A subject with 100 events. */
const SUBJECT = '8f14e45f-ceea-167a-5a36-dedd4bea2543';

const db = await makeDatabase(t);
const club = await db.makeClub('north');
const runtime = await connectAsRuntime(t, db);
const caller = { clubId: club, subject: 'anna', role: 'Manager' as const };
const bob = await runtime.join({ ...caller, subject: 'bob' });
const anna = await runtime.join(caller);
// The setting of the service's sessions.
await runtime.client.query('set plan_cache_mode = force_generic_plan');

/** Fills a table; its indexes are created afterwards, which is much faster. */
async function fill(table: string, insert: string): Promise<void> {
  const indexes = await db.queryAsAdmin<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
     from pg_index where indrelid = $1::regclass and not indisprimary and not indisunique`,
    [table],
  );
  for (const { name } of indexes) {
    await db.queryAsAdmin(`drop index ${name}`);
  }
  await db.queryAsAdmin(`set session_replication_role = replica; ${insert}`);
  for (const { definition } of indexes) {
    await db.queryAsAdmin(definition);
  }
  await db.queryAsAdmin(`vacuum analyze ${table}`);
}

await fill(
  'app.members',
  `insert into app.members (tenant_id, id, external_user_id, display_name, role, joined_at)
   select '${club}', gen_random_uuid(), 'member-' || n, 'Member ' || n * 7919::bigint % ${MEMBERS}, 'Member', now() - n * interval '1 minute'
   from generate_series(1, ${MEMBERS}) n`,
);
await fill(
  'app.tasks',
  `insert into app.tasks (tenant_id, id, title, state, assignee_id, due_at, created_at, updated_at, created_by_id)
   select '${club}', gen_random_uuid(), 'Task ' || n * 7919::bigint % ${TASKS},
     case when n % 1000 = 0 then 'Review' when n % 3 = 0 then 'Assigned' else 'Open' end,
     case when n % 1000 = 0 then '${anna}'::uuid when n % 3 = 0 then '${bob}'::uuid end,
     case when n % 2 = 0 then now() + (n % 1000 - 500) * interval '1 hour' end,
     now() - n * interval '10 seconds', now() - n % 5000 * interval '1 minute', null
   from generate_series(1, ${TASKS}) n`,
);
await fill(
  'app.shifts',
  `insert into app.shifts (tenant_id, id, title, starts_at, ends_at, capacity, created_at, created_by_id)
   select '${club}', gen_random_uuid(), 'Shift ' || n * 7919::bigint % ${SHIFTS}, now() + (n - ${SHIFTS / 2}) * interval '1 hour',
     now() + (n - ${SHIFTS / 2} + 4) * interval '1 hour', 10, now() - n * interval '1 minute', null
   from generate_series(1, ${SHIFTS}) n`,
);
// The caller was on every shift that is over, and bob is on 2,000 around now; PostgreSQL expects one signup of a member, as the members of many other clubs have.
await fill(
  'app.shift_signups',
  `insert into app.shift_signups (tenant_id, id, shift_id, member_id, created_by_id)
   select tenant_id, gen_random_uuid(), id, '${anna}'::uuid, null::uuid from app.shifts where starts_at < now()
   union all
   select tenant_id, gen_random_uuid(), id, '${bob}', null from app.shifts
   where starts_at between now() - interval '1000 hours' and now() + interval '1000 hours'
   union all
   select md5((n % 1000)::text)::uuid, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), null from generate_series(1, 50000) n`,
);
await fill(
  'app.events',
  `insert into app.events (tenant_id, id, sequence, type, subject_id, actor_id, member_id, changes, fields)
   select '${club}', gen_random_uuid(), n + 10, 'task.changed', md5((n % 1000)::text)::uuid,
     case when n % 2 = 0 then '${bob}'::uuid end,
     case when n % 1000 = 0 then '${anna}'::uuid when n % 3 = 0 then '${bob}'::uuid end, '{}', '{}'
   from generate_series(1, ${EVENTS}) n`,
);
await fill(
  'app.attendance',
  `insert into app.attendance (tenant_id, id, shift_id, member_id, shift_title, starts_at, ends_at, was_signed_up, status, minutes, recorded_by_id)
   select '${club}', gen_random_uuid(), gen_random_uuid(), ids[n % cardinality(ids) + 1], 'Bar', now() - n * interval '53 minutes',
     now() - (n - 2) * interval '53 minutes', true, 'Attended', 106, '${bob}'
   from generate_series(1, ${RECORDS}) n, (select array_agg(id) from app.members where tenant_id = '${club}') as member (ids)`,
);

await fill(
  'app.calendar_links',
  `insert into app.calendar_links (tenant_id, id, member_id, secret_hash)
   select '${club}'::uuid, gen_random_uuid(), '${bob}'::uuid, decode('${hashOf('of bob')}', 'hex')
   union all
   select '${club}', gen_random_uuid(), gen_random_uuid(), sha256(n::text::bytea) from generate_series(1, ${LINKS}) n`,
);

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** The plan nodes of a read of the service, from the generic plan of its one statement. */
async function planOf(query: Query<unknown>): Promise<Plan[]> {
  const { text, literals } = prepared(readStatementOf(callerOf(club, 'Manager', 'anna'), query));
  // EXPLAIN of a statement with parameters makes a plan for their values; a session of the service uses a generic plan.
  await runtime.client.query(`prepare list as ${text}`);
  const { rows } = await runtime.client.query(`explain (analyze, format json) execute list ${literals}`);
  await runtime.client.query('deallocate list');
  return nodesOf(rows[0]['QUERY PLAN'][0].Plan);
}

const pageOf = (order: Order, descending: boolean, after?: Page['after']): Page => ({
  order,
  descending,
  limit: 20,
  after,
  scope: '',
});

/** Rows that were read and discarded, besides the rows of the page. */
const thrownAway = (nodes: Plan[]) =>
  nodes.reduce((sum, node) => sum + (node['Rows Removed by Filter'] ?? 0), 0);
/** Forbidden nodes: a scan of a whole table or club, a sort, parallel workers, or an index mostly filtered out. */
const faultsOf = (nodes: Plan[], most = 100) => [
  ...nodes
    .filter((node) => /Seq Scan|Sort|Bitmap|Hash|Material|Gather/.test(node['Node Type']))
    .map((node) => `${node['Node Type']} ${node['Relation Name'] ?? ''}`),
  ...(nodes.some((node) => node['Node Type'] === 'Limit' && node['Actual Loops'] === 1)
    ? []
    : ['not evaluated']),
  ...(thrownAway(nodes) > most ? [`${thrownAway(nodes)} rows thrown away`] : []),
];

interface List {
  orders: Record<string, Order>;
  list: (filters: object, page: Page) => Query<unknown>;
  middle: Partial<Record<KeyKind, string>>;
}

// In the middle of the rows, so that another page follows.
const twoDaysAgo = new Date(Date.now() - 48 * 3_600_000).toISOString();
const LISTS: Record<string, List> = {
  tasks: { orders: taskOrders, list: listTasks, middle: { instant: twoDaysAgo, text: 'Task 5' } },
  shifts: {
    orders: shiftOrders,
    list: listShifts,
    middle: { instant: twoDaysAgo, text: 'Shift 5' },
  },
  events: { orders: eventOrders, list: listEvents, middle: { bigint: '50000' } },
  attendance: { orders: attendanceOrders, list: listAttendance, middle: { instant: twoDaysAgo } },
  hours: { orders: nameOrders, list: listHours, middle: { text: 'Member 5' } },
  members: {
    orders: memberOrders,
    list: listMembers,
    middle: { instant: twoDaysAgo, text: 'Member 5' },
  },
};

for (const [name, { orders, list, middle }] of Object.entries(LISTS)) {
  t.test(`${name}: every page in every order is read from an index`, async (t) => {
    for (const [sort, order] of Object.entries(orders)) {
      for (const descending of [false, true]) {
        for (const after of [undefined, { key: middle[order.kind] as string, id: anna }]) {
          const nodes = await planOf(list({}, pageOf(order, descending, after)));
          t.same(
            faultsOf(nodes),
            [],
            `${sort} ${descending ? 'descending' : 'ascending'} ${after ? 'later' : 'first'}`,
          );
        }
      }
    }
  });
}

/** Every combination of one value of each filter; undefined is no filter. */
const combinations = (filters: Record<string, unknown[]>): object[] =>
  Object.entries(filters).reduce<object[]>(
    (all, [name, values]) => all.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  );
const hoursFromNow = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

t.test('a list of tasks shares a connection only if an index bounds the rows that it reads', async (t) => {
  let accepted = 0;
  for (const filters of combinations({
    state: [undefined, ['Review'], ['Open'], ['Done'], ['Review', 'Done'], ['Open', 'Assigned']],
    assigneeId: [undefined, 'me', anna, 'none'],
    dueAfter: [undefined, hoursFromNow(1_000)],
    dueBefore: [undefined, hoursFromNow(-1_000)],
    q: [undefined, 'no such title'],
  })) {
    for (const [name, order] of Object.entries(taskOrders)) {
      for (const sort of [name, `-${name}`]) {
        const query = listTasks({ ...filters, sort } as never, pageOf(order, sort.startsWith('-')));
        if (query.isBounded) {
          accepted += 1;
          t.same(faultsOf(await planOf(query)), [], `${sort} ${JSON.stringify(filters)}`);
        }
      }
    }
  }
  t.equal(accepted, 8 + 2 * 3 + 2 * 3, 'no filter in any order, one state or the assignee by creation');
});

t.test('a window of due dates is read from an index in the order of dueAt', async (t) => {
  for (const filters of [
    { dueAfter: hoursFromNow(490) },
    { dueBefore: hoursFromNow(-490) },
    { dueAfter: hoursFromNow(100), dueBefore: hoursFromNow(148) },
  ]) {
    for (const descending of [false, true]) {
      const query = listTasks(filters, pageOf(taskOrders.dueAt, descending));
      t.same(faultsOf(await planOf(query)), [], `${JSON.stringify(filters)} ${descending}`);
    }
  }
});

t.test('a list of shifts shares a connection only if an index bounds the rows that it reads', async (t) => {
  let accepted = 0;
  for (const filters of combinations({
    from: [undefined, hoursFromNow(0)],
    to: [undefined, hoursFromNow(168)],
    signedUp: [undefined, true],
    waiting: [undefined, 'me'],
    hasFreeSlots: [undefined, true],
    signupOpen: [undefined, true],
    q: [undefined, 'no such title'],
  })) {
    for (const [name, order] of Object.entries(shiftOrders)) {
      for (const sort of [name, `-${name}`]) {
        const query = listShifts({ ...filters, sort } as never, pageOf(order, sort.startsWith('-')));
        if (query.isBounded) {
          accepted += 1;
          // A shift lasts at most 31 days, so shifts that started up to 31 days before the window are read.
          t.same(faultsOf(await planOf(query), 31 * 24), [], `${sort} ${JSON.stringify(filters)}`);
        }
      }
    }
  }
  t.equal(accepted, 6 + 2 * 3, 'no filter in any order, a window by start');
});

t.test('a time window of shifts at any position is read from an index', async (t) => {
  for (const start of [-SHIFTS / 2, 0, SHIFTS / 2 - 200]) {
    const window = { from: hoursFromNow(start), to: hoursFromNow(start + 168) };
    const nodes = await planOf(listShifts(window, pageOf(shiftOrders.startsAt, false)));
    // A shift lasts at most 31 days, so shifts that started up to 31 days before the window are read.
    t.same(faultsOf(nodes, 31 * 24), [], `from hour ${start}`);
  }
});

t.test('a list of events shares a connection only if an index bounds the rows that it reads', async (t) => {
  const [middle] = await db.queryAsAdmin<{ id: string }>('select id from app.events where sequence = 50000');
  let accepted = 0;
  for (const [sort, afters] of [
    ['sequence', [undefined, middle?.id, club]],
    ['-sequence', [undefined]],
  ] as const) {
    for (const filters of combinations({
      after: [...afters],
      type: [undefined, ['task.deleted']],
      subjectId: [undefined, SUBJECT],
      memberId: [undefined, 'me', bob],
      actorId: [undefined, 'me', 'none'],
    })) {
      const query = listEvents({ ...filters, sort }, pageOf(eventOrders.sequence, sort !== 'sequence'));
      if (query.isBounded) {
        accepted += 1;
        t.same(faultsOf(await planOf(query)), [], `${sort} ${JSON.stringify(filters)}`);
      }
    }
  }
  t.equal(accepted, (3 + 1) * 4, 'no filter, one subject or one member');
});

t.test('attendance and hours of a season or a member are read from an index', async (t) => {
  const season = { from: hoursFromNow(-365 * 24), to: hoursFromNow(-180 * 24) };
  for (const filters of combinations({
    memberId: [undefined, 'me', bob],
    from: [undefined, season.from],
    to: [undefined, season.to],
  })) {
    // PostgreSQL sorts or keeps the one row of a member.
    const isOfRows = (fault: string) =>
      !('memberId' in filters && filters.memberId !== undefined && /^(Sort|Materialize) $/.test(fault));
    for (const descending of [false, true]) {
      const what = `${JSON.stringify(filters)} ${descending}`;
      const records = await planOf(listAttendance(filters, pageOf(attendanceOrders.startsAt, descending)));
      t.same(faultsOf(records).filter(isOfRows), [], `attendance ${what}`);
      const sums = await planOf(listHours(filters, pageOf(nameOrders.memberName, descending)));
      t.same(faultsOf(sums).filter(isOfRows), [], `hours ${what}`);
    }
  }
});

t.test('a calendar is read from indexes: its link, its signups and their shifts alone', async (t) => {
  /** The rows and the sequential scans of each table that this session has read so far. */
  const counts = async (): Promise<number[]> => {
    const { rows } = await runtime.client.query(
      `select idx_tup_fetch::integer, seq_scan::integer from pg_stat_xact_user_tables
       where relname in ('calendar_links', 'shift_signups', 'shifts') order by relname`,
    );
    return rows.flatMap((row) => Object.values<number>(row));
  };
  for (const [secret, most, shown] of [
    ['of bob', [1, 0, 2_000, 0, 2_000, 0], 1_000],
    ['wrong', [0, 0, 0, 0, 0, 0], 0],
  ] as const) {
    const { text, literals } = prepared(findCalendar(club, hashOf(secret)));
    await runtime.client.query(`prepare calendar as ${text}; begin`);
    const before = await counts();
    const { rows } = await runtime.client.query(`execute calendar ${literals}`);
    const after = await counts();
    await runtime.client.query('rollback; deallocate calendar');
    t.equal(rows[0]?.shifts.length ?? 0, shown, secret);
    const read = after.map((count, place) => count - Number(before[place]));
    // Fewer where an index alone has the columns.
    t.ok(
      read.every((count, place) => count <= Number(most[place])),
      `${secret}: ${read}`,
    );
  }
});
