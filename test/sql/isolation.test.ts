import t, { type Test } from 'tap';
import { type Relation, readable, relationsOf, routinesOf } from '../setup/catalog.js';
import { asAdmin, attempt, fingerprint, makeTestbed, type Testbed, tablesOf } from '../setup/testbed.js';

const testbed = await makeTestbed(t);

const NO_RIGHT = '42501';

/**
 * What an Admin may do to the rows of the own club; the rest is refused without a grant. A table that is
 * not listed here allows what the catalog shows as granted.
 */
const RIGHTS: Record<string, string[]> = {
  clubs: ['select', 'copy'],
  members: ['select', 'copy', 'update'],
  tasks: ['select', 'copy', 'insert', 'update', 'delete'],
  shifts: ['select', 'copy', 'insert', 'update', 'delete'],
  shift_signups: ['select', 'copy'],
  idempotency_keys: [],
};

/** Rows for an insert; the floor's column is added where it may be written. */
const INSERTS: Record<string, string> = {
  tasks: `(title) values ('inserted')`,
  shifts: `(title, starts_at, ends_at, capacity) values ('inserted', now(), now() + interval '1 hour', 1)`,
  // The hash that is there cannot be read.
  calendar_links: `(secret_hash) values (sha256('inserted'))`,
};

const nobody: Record<string, string[]> = {
  'no context': [],
  'an empty context': ['tenant_id', 'user_id', 'role', 'member_id'].map(
    (name) => `set local app.${name} = ''`,
  ),
  'a context that is no id': [
    `set local app.tenant_id = 'garbage'`,
    `set local app.role = 'Admin'`,
    `set local app.user_id = 'anna'`,
  ],
  'a role and no club': [`set local app.role = 'Admin'`, `set local app.user_id = 'anna'`],
};

const granted = new Map((await relationsOf(testbed.db)).map((relation) => [relation.name, relation]));

function rightsOf(name: string): string[] {
  const grants = granted.get(`app.${name}`)?.grants ?? [];
  return RIGHTS[name] ?? [...grants, ...(grants.includes('select') ? ['copy'] : [])];
}

/** The rows of an insert: for a table not listed above a copy of one row, in the columns that may be written. */
function insertInto(name: string): string {
  const columns = granted.get(`app.${name}`)?.columns.filter(({ mayInsert }) => mayInsert) ?? [];
  const names = columns.map((column) => column.name).join(', ');
  const isNamed = name in RIGHTS || names === '';
  return (
    INSERTS[name] ??
    (isNamed ? `select * from app.${name}` : `(${names}) select ${names} from app.${name} limit 1`)
  );
}

function statementsFor(
  { name, floor, column }: { name: string; floor: string; column: string },
  clubId: string,
) {
  const where = `where ${floor} = '${clubId}'`;
  return {
    select: `select ${readable(granted.get(`app.${name}`) as Relation)} from app.${name} ${where}`,
    insert: `insert into app.${name} ${insertInto(name)}`,
    update: `update app.${name} set ${column} = ${column} ${where}`,
    delete: `delete from app.${name} ${where}`,
    truncate: `truncate app.${name} cascade`,
    copy: `copy (select ${readable(granted.get(`app.${name}`) as Relation)} from app.${name} ${where}) to stdout`,
  };
}

/** Rows with a foreign club's id, which no caller may insert. */
function intrusion(name: string, floor: string, clubId: string): string {
  return `insert into app.${name} select (jsonb_populate_record(own, jsonb_build_object('${floor}', '${clubId}', 'id', app.new_id()))).* from app.${name} as own limit 1`;
}

/** A table with a floor: its column with the club, and one that the service may write. */
interface Guarded {
  name: string;
  floor: string;
  column: string;
}

async function guardedTables({ db }: Testbed): Promise<Guarded[]> {
  return (await tablesOf(db)).flatMap(({ floor, ...table }) => (floor === null ? [] : [{ ...table, floor }]));
}

/** The statements that pass the floor of a table: on rows of another club, and in a session without a club. */
async function passesOf(
  { api, own, foreign }: Testbed,
  table: Guarded,
  end: 'commit' | 'rollback' = 'commit',
): Promise<string[]> {
  const { name, floor } = table;
  const passes: string[] = [];
  const aimed = { ...statementsFor(table, foreign.id), insert: intrusion(name, floor, foreign.id) };
  for (const [verb, statement] of Object.entries(aimed)) {
    const outcome = await attempt(api, asAdmin(own.id), statement, end);
    const isUntouched = 'rows' in outcome ? outcome.rows === 0 : outcome.code === NO_RIGHT;
    passes.push(...(isUntouched ? [] : [`${verb} on a foreign ${name}: ${JSON.stringify(outcome)}`]));
  }
  const abduction = `update app.${name} set ${floor} = '${foreign.id}' where ${floor} = '${own.id}'`;
  const moved = await attempt(api, asAdmin(own.id), abduction, end);
  const isMoved = !('code' in moved && moved.code === NO_RIGHT);
  passes.push(...(isMoved ? [`${name} leave their club: ${JSON.stringify(moved)}`] : []));

  for (const [who, context] of Object.entries(nobody)) {
    for (const [verb, statement] of Object.entries(statementsFor(table, own.id))) {
      const outcome = await attempt(api, context, statement, end);
      const isRefused = 'code' in outcome && [NO_RIGHT, 'TN001', '22P02'].includes(outcome.code);
      passes.push(...(isRefused ? [] : [`${verb} on ${name} with ${who}: ${JSON.stringify(outcome)}`]));
    }
  }
  return passes;
}

/** Asserts that no statement passes the floor of any table. */
async function holdsTheFloor(t: Test, testbed: Testbed): Promise<void> {
  const { db, own, foreign } = testbed;
  const before = [await fingerprint(db, own.id), await fingerprint(db, foreign.id)];
  for (const table of await guardedTables(testbed)) {
    t.same(await passesOf(testbed, table), [], `no statement passes the floor of ${table.name}`);
  }
  t.same([await fingerprint(db, own.id), await fingerprint(db, foreign.id)], before, 'no row has changed');
}

/** Clubs in a database with every grant, and a policy on each table that allows everything. */
async function makeOpenTestbed(t: Test): Promise<Testbed> {
  const open = await makeTestbed(t);
  await open.db.queryAsAdmin('grant select, insert, update, delete on all tables in schema app to public');
  for (const { name } of await tablesOf(open.db)) {
    await open.db.queryAsAdmin(
      `create policy a_mistake on app.${name} for all to public using (true) with check (true)`,
    );
  }
  return open;
}

t.test('in the own club each table allows what it grants, and refuses every other command', async (t) => {
  const { db, api, own } = testbed;
  const tables = await tablesOf(db);
  const names = tables.map(({ name }) => name);
  t.ok(Object.keys(RIGHTS).every((name) => names.includes(name)));
  for (const table of tables) {
    const floor = table.floor ?? 'true or null';
    const rights = rightsOf(table.name);
    const statements = statementsFor({ ...table, floor }, own.id);
    for (const [verb, statement] of Object.entries(statements)) {
      const text = table.floor === null ? statement.replace(/where.*?'[^']*'/, '') : statement;
      const outcome = await attempt(api, asAdmin(own.id), text, 'rollback');
      if (rights.includes(verb)) {
        // An allowed statement can fail on a key: the row is referenced, or exists already.
        const isStopped = 'code' in outcome && ['23001', '23503', '23505'].includes(outcome.code);
        t.ok(
          isStopped || ('rows' in outcome && outcome.rows > 0),
          `${verb} on ${table.name}: ${JSON.stringify(outcome)}`,
        );
      } else {
        t.same(outcome, { code: NO_RIGHT }, `${verb} on ${table.name}`);
      }
    }
  }
});

t.test('rows of a foreign club cannot be read or written, and nothing works without a club', async (t) => {
  await holdsTheFloor(t, testbed);
});

t.test('a statement without WHERE reads and changes the own club only', async (t) => {
  const { db, api, own } = testbed;
  for (const { name, floor } of await tablesOf(db)) {
    if (floor !== null && rightsOf(name).includes('select')) {
      const [{ count } = { count: 0 }] = await db.queryAsAdmin(
        `select count(*)::int from app.${name} where ${floor} = $1`,
        [own.id],
      );
      const columns = readable(granted.get(`app.${name}`) as Relation);
      t.same(
        await attempt(api, asAdmin(own.id), `select ${columns} from app.${name}`),
        { rows: count },
        name,
      );
      t.same(
        await attempt(api, asAdmin(own.id), `copy app.${name} (${columns}) to stdout`),
        { rows: count },
        name,
      );
    }
    const filled = await attempt(api, asAdmin(own.id), `copy app.${name} from stdin`);
    t.ok('code' in filled && [NO_RIGHT, '0A000'].includes(filled.code), `nothing is copied into ${name}`);
  }
});

t.test(
  'the floor alone isolates: with every grant and a policy that allows everything, no row leaks',
  async (t) => {
    await holdsTheFloor(t, await makeOpenTestbed(t));
  },
);

t.test('without the floor of a table, its rows are found to leak', async (t) => {
  const open = await makeOpenTestbed(t);
  for (const table of await guardedTables(open)) {
    // A restrictive policy that allows every row restricts nothing.
    const [{ remove, restore } = { remove: '', restore: '' }] = await open.db.queryAsAdmin(
      `select
         string_agg(format('alter policy %I on app.%I using (true) with check (true)', policyname, tablename), ';') as remove,
         string_agg(format('alter policy %I on app.%I using (%s) with check (%s)', policyname, tablename, qual, with_check), ';') as restore
       from pg_policies
       where schemaname = 'app' and tablename = $1 and permissive = 'RESTRICTIVE' and roles && '{public,club_api}'`,
      [table.name],
    );
    await open.db.queryAsAdmin(remove);
    const passes = await passesOf(open, table, 'rollback');
    await open.db.queryAsAdmin(restore);
    t.match(passes.join('\n'), `select on a foreign ${table.name}: {"rows":`, table.name);
  }
});

t.test('exactly four functions that the service can call set a context', async (t) => {
  const setters = (await routinesOf(testbed.db))
    .filter(({ setsContext }) => setsContext)
    .map(({ name }) => name);
  // The oldest event is that of the club in the context, which becomes that of the recorder.
  t.same(setters, ['app.enter', 'app.enter_directory', 'app.oldest_event', 'app.read_calendar']);
});
