import pg from 'pg';
import t, { type Test } from 'tap';
import { Database } from '../../src/database/database.js';
import { type Query, sql } from '../../src/database/sql.js';
import { type Caller, callInTenant } from '../../src/database/tenant-context.js';
import { patchTask } from '../../src/tasks/queries.js';
import { stopClock } from '../setup/clock.js';
import { type Action, type Message, message, startProxy, type TestProxy } from '../setup/proxy.js';
import { until } from '../setup/wait.js';
import { makeWork, sqlstate } from '../setup/work.js';

// A call is one statement that evaluates one function that writes.

const { db, club, database, anna, write, titles } = await makeWork(t);
/** As in src/database/database.ts. */
const CALL_MS = 8_000;
const UNKNOWN_CLUB = '99999999-9999-4999-8999-999999999999';

await db.queryAsAdmin(`
  create function app.make_task(title text) returns uuid language plpgsql as $$
  declare
    made uuid;
  begin
    insert into app.tasks (title) values (make_task.title) returning id into made;
    return made;
  end $$;
  create sequence app.attempts;
  create function app.fail_with(code text, times int) returns void language plpgsql as $$
  begin
    if nextval('app.attempts') <= times then
      raise exception using errcode = code, message = 'on purpose';
    end if;
  end $$;
  create function app.count_tasks() returns bigint language plpgsql as $$
  begin
    perform pg_advisory_xact_lock(1);
    return (select count(*) from app.tasks);
  end $$;
  grant execute on function app.make_task(text), app.fail_with(text, int), app.count_tasks() to club_api;
  grant usage on sequence app.attempts to club_api;
  create function app.refuse_at_commit() returns trigger language plpgsql as
    $$ begin raise exception using errcode = substr(new.title, 8), message = 'on purpose'; end $$;
  create constraint trigger refuse_at_commit after insert on app.tasks
    deferrable initially deferred for each row when (new.title like 'commit %') execute function app.refuse_at_commit()`);

const makeTask = (title: string): Query<{ id: string }> => sql`select app.make_task(${title}) as id`;
const call = <Row>(at: Database, query: Query<Row>, caller: Caller = anna) =>
  callInTenant(at, caller, 'makeTask', query);
const isCall = ({ type, statement = '' }: Message) => type === 'B' && statement.startsWith('/* makeTask */');

/** A database with one connection, through a proxy, which has made a call. */
async function openRoute(t: Test, prepare = true): Promise<{ proxy: TestProxy; database: Database }> {
  const proxy = await startProxy(t, db.url);
  const database = new Database({ url: proxy.url, size: 1, prepare, readsPerConnection: 8 });
  t.teardown(() => database.close());
  await call(database, makeTask('first'));
  return { proxy, database };
}

t.test('a call is one statement, and returns its rows and the member', async (t) => {
  for (const prepare of [true, false]) {
    const { proxy, database } = await openRoute(t, prepare);
    const before = proxy.log.length;
    const { rows, memberId } = await call(database, makeTask(`one ${prepare}`));
    const sent = proxy.log.slice(before).filter(({ from }) => from === 'client');
    t.equal(sent.filter(({ type }) => type === 'B').length, 1);
    t.match(sent.find(({ type }) => type === 'B')?.statement, /^\/\* makeTask \*\/\s+with tenant_context/);
    const [task] = await db.queryAsAdmin(
      'select id, created_by_id as creator from app.tasks where title = $1',
      [`one ${prepare}`],
    );
    t.same([rows.map((row) => row.parse()), memberId], [[{ id: task?.id }], task?.creator]);
  }
});

t.test('the function is evaluated only if the context is accepted', async (t) => {
  for (const [name, caller] of [
    ['TenantNotFound', { ...anna, tenantId: UNKNOWN_CLUB }],
    ['TestMemberNotFound', { ...anna, testMemberId: UNKNOWN_CLUB }],
  ] as const) {
    await t.rejects(call(database, makeTask('refused'), caller), { name });
  }
  t.same(await titles('refused'), []);
  // Of a new member the first statement evaluates nothing, and the second one the function.
  await call(database, makeTask('of a new member'), { ...anna, subject: 'berta', displayName: 'berta' });
  t.same(await titles('of a new member'), ['of a new member']);
});

t.test('a call that fails commits nothing, and its connection is used again', async (t) => {
  const { proxy, database } = await openRoute(t);
  for (const [code, failures, attempts] of [
    ['40001', 1, 2],
    ['40P01', 9, 2],
    ['55P03', 9, 1],
    ['SH004', 9, 1],
  ] as const) {
    await db.queryAsAdmin('alter sequence app.attempts restart');
    const before = proxy.log.length;
    const end = await call(database, sql`select app.fail_with(${code}, ${failures})`).then(
      () => 'done',
      sqlstate,
    );
    t.equal(end, failures < attempts ? 'done' : code);
    t.equal(proxy.log.slice(before).filter(isCall).length, attempts, `${code}: ${attempts} attempts`);
  }
  for (const [code, attempts] of [
    ['23514', 1],
    ['40001', 2],
  ] as const) {
    const before = proxy.log.length;
    t.equal(await call(database, makeTask(`commit ${code}`)).catch(sqlstate), code, 'of a deferred trigger');
    t.equal(proxy.log.slice(before).filter(isCall).length, attempts);
  }
  t.same(await titles('commit%'), []);
  t.same(database.connections, { opened: 1, lost: 0 });
});

t.test(
  'a call that loses its connection at any message has an unknown outcome, and is not sent again',
  async (t) => {
    const { proxy, database } = await openRoute(t);
    const before = proxy.log.length;
    await call(database, makeTask('whole'));
    const messages = proxy.log.slice(before);
    t.same(
      messages.map(({ from, type }) => `${from} ${type}`),
      ['client B', 'client E', 'client S', 'server 2', 'server D', 'server C', 'server Z'],
    );
    let [made, notMade] = [0, 0];
    const sessions = async () => {
      const rows = await db.queryAsAdmin<{ pid: number }>(
        `select pid from pg_stat_activity
         where datname = current_database() and application_name = 'club-management-service'`,
      );
      return rows.map(({ pid }) => pid);
    };
    for (const place of messages.keys()) {
      for (const action of ['cut before', 'cut after'] as Action[]) {
        const { proxy, database } = await openRoute(t);
        const title = `cut ${place} ${action}`;
        const start = proxy.log.length;
        const open = await sessions();
        let passed = 0;
        proxy.onMessage = () => (passed++ === place ? action : 'pass');
        const end = await call(database, makeTask(title)).catch((error) => error);
        // After a message the proxy may still forward others of the same packet.
        if (action === 'cut before' || end instanceof Error) {
          t.match(end, { name: 'Unavailable', committed: 'unknown' }, title);
        }
        t.equal(proxy.log.slice(start).filter(isCall).length, 1, title);
        // The server ends the session after the statement.
        await until(sessions, (pids) => open.some((pid) => !pids.includes(pid)));
        const isMade = (await titles(title)).length === 1;
        t.ok(isMade || end instanceof Error, 'what is acknowledged is committed');
        made += isMade ? 1 : 0;
        notMade += isMade ? 0 : 1;
        proxy.onMessage = () => 'pass';
        await until(
          () => database.connections.lost,
          (lost) => lost === 1,
        );
        await call(database, makeTask('afterwards'));
      }
    }
    t.ok(made > 0 && notMade > 0, `${made} made, ${notMade} not made`);
  },
);

t.test('a call that takes too long has an unknown outcome, after eight seconds', async (t) => {
  const advance = stopClock(t);
  const { proxy, database } = await openRoute(t);
  let isFrozen = false;
  proxy.onMessage = (sent) => {
    isFrozen ||= isCall(sent);
    return isFrozen ? 'freeze' : 'pass';
  };
  const calling = call(database, makeTask('frozen'));
  calling.catch(() => {});
  await until(() => isFrozen, Boolean);
  await advance(CALL_MS - 1);
  t.equal(database.connections.lost, 0);
  await advance(1);
  await t.rejects(calling, {
    name: 'Unavailable',
    committed: 'unknown',
    cause: { cause: { message: 'A call took too long.' } },
  });
  t.equal(database.connections.lost, 1);
});

t.test('a result of another request or club is rejected, with an unknown outcome', async (t) => {
  for (const alter of [
    (text: string) => text.replace(/"request":"(\d*)\d"/, (_, digits) => `"request":"${digits}x"`),
    (text: string) => text.replace(`"entered_tenant_id":"${club}"`, `"entered_tenant_id":"${UNKNOWN_CLUB}"`),
  ]) {
    const { proxy, database } = await openRoute(t);
    proxy.onMessage = ({ from, type, text }) =>
      from === 'server' && type === 'D' ? { bytes: message('D', alter(text)) } : 'pass';
    await t.rejects(call(database, makeTask('foreign')), { name: 'Unavailable', committed: 'unknown' });
    t.equal(database.connections.lost, 1);
  }
});

t.test('a function sees what was committed while it waited for a lock', async (t) => {
  const holder = new pg.Client(db.adminUrl);
  await holder.connect();
  t.teardown(() => holder.end());
  await holder.query('select pg_advisory_lock(1)');
  const [{ count: before } = { count: 0 }] = await db.queryAsAdmin<{ count: number }>(
    'select count(*)::int as count from app.tasks where tenant_id = $1',
    [club],
  );
  const waiting = call<{ count: number }>(database, sql`select app.count_tasks() as count`);
  await until(
    () => db.queryAsAdmin(`select from pg_locks where locktype = 'advisory' and not granted`),
    (rows) => rows.length > 0,
  );
  await write((tx) => tx.query(sql`insert into app.tasks (title) values ('meanwhile')`));
  await holder.query('select pg_advisory_unlock(1)');
  t.same((await waiting).rows[0]?.parse(), { count: before + 1 });
});

t.test(
  'a changed type of app.enter fails no statement, call or transaction, and loses no connection',
  async (t) => {
    const { proxy, database } = await openRoute(t);
    const [{ definition } = { definition: '' }] = await db.queryAsAdmin<{ definition: string }>(
      `select pg_get_functiondef(oid) as definition from pg_proc where oid::regproc = 'app.enter'::regproc`,
    );
    const [{ drop } = { drop: '' }] = await db.queryAsAdmin<{ drop: string }>(
      `select 'drop function ' || oid::regprocedure as drop from pg_proc where oid::regproc = 'app.enter'::regproc`,
    );
    const deploy = (text: string) =>
      db.queryAsAdmin(`begin; ${drop}; ${text}; grant execute on function app.enter to club_api; commit`);
    for (const text of [
      definition.replace('member_is_current boolean)', 'member_is_current boolean, extra integer)'),
      definition,
    ]) {
      await deploy(text);
      await call(database, makeTask('of another type'));
    }
    t.equal(proxy.accepted, 1);
    t.equal(database.connections.lost, 0);
  },
);

t.test('after a change of a column’s type no call fails, on any connection', async (t) => {
  const size = database.size;
  const tasks = await Promise.all(
    Array.from({ length: size }, async () => (await call(database, makeTask('first'))).rows[0]?.parse().id),
  );
  const changeEach = (title: string) =>
    Promise.all(tasks.map((id) => call(database, patchTask(String(id), { title }, null))));
  for (const type of ['varchar(10000)', 'text']) {
    await changeEach(`before ${type}`);
    await db.queryAsAdmin(`alter table app.tasks alter column description type ${type}`);
    for (const { rows } of await changeEach(`after ${type}`)) {
      t.match(rows[0]?.parse(), { title: `after ${type}` });
    }
  }
});
