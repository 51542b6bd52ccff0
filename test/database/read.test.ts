import t, { type Test } from 'tap';
import { Connection } from '../../src/database/connection.js';
import { Database, type DatabaseOptions } from '../../src/database/database.js';
import { ConnectionLost } from '../../src/database/errors.js';
import type { LeaseKind } from '../../src/database/pool.js';
import { bounded, type Query, sql, type Value } from '../../src/database/sql.js';
import { runStatement } from '../../src/database/statement.js';
import {
  type Caller,
  memberContext,
  readDirectory,
  readInTenant,
  readOwn,
  writeInTenant,
} from '../../src/database/tenant-context.js';
import { stopClock } from '../setup/clock.js';
import { isStatement, type Message, message, startProxy, type TestProxy } from '../setup/proxy.js';
import { until } from '../setup/wait.js';
import { callerOf, makeWork, NOT_COMMITTED, readRows, sqlstate } from '../setup/work.js';

const { db, club, database, anna, write, insert, titles } = await makeWork(t);
const south = await db.makeClub('south');
await write((tx) => tx.query(insert('mine')));
/** As in src/database/database.ts. */
const SHARED_ATTEMPT_MS = 3_500;
const UNKNOWN_CLUB = '99999999-9999-4999-8999-999999999999';
const TITLES = sql`select title from app.tasks order by title`;
const LEASES: LeaseKind[] = ['exclusive', 'shared'];

await db.queryAsAdmin(`
  create function app.sneak() returns void language sql volatile as
    $$ insert into app.tasks (title) values ('sneaked') $$;
  create function app.fail_with(code text) returns void language plpgsql as
    $$ begin raise exception using errcode = code, message = 'on purpose'; end $$;
  grant execute on function app.sneak(), app.fail_with(text) to club_api`);

/** A database with one connection, through a proxy. */
async function openRoute(
  t: Test,
  options: Partial<DatabaseOptions> = {},
): Promise<{ proxy: TestProxy; database: Database }> {
  const proxy = await startProxy(t, db.url);
  const database = new Database({
    url: proxy.url,
    size: 1,
    prepare: true,
    readsPerConnection: 8,
    ...options,
  });
  t.teardown(() => database.close());
  return { proxy, database };
}

const readAs = <Row>(
  database: Database,
  query: Query<Row>,
  caller: Caller = anna,
  lease: LeaseKind = 'shared',
) => readRows(database, caller, query, lease);
const fromClient = ({ from }: Message) => from === 'client';
const isRead = (sent: Message) =>
  sent.type === 'B' && /listTasks.*tenant_context/s.test(sent.statement ?? '');

// One statement.

t.test(
  'a read is one statement: one Bind, no BEGIN, no COMMIT, with the name of its operation',
  async (t) => {
    const { proxy, database } = await openRoute(t);
    for (const lease of LEASES) {
      await readAs(database, TITLES, anna, lease);
      const before = proxy.log.length;
      t.same(await readAs(database, TITLES, anna, lease), [{ title: 'mine' }]);
      const sent = proxy.log.slice(before).filter(fromClient);
      t.same(
        sent.map(({ type }) => type),
        ['B', 'E', 'S'],
        lease,
      );
      t.match(sent[0]?.statement, /^\/\* listTasks \*\/\s+with tenant_context/);
    }
    t.equal(proxy.accepted, 1);
  },
);

t.test('without prepared statements a read is one statement too, on its own connection', async (t) => {
  const { proxy, database } = await openRoute(t, { prepare: false, size: 3 });
  await readAs(database, TITLES);
  const before = proxy.log.length;
  const reads = await Promise.all(Array.from({ length: 6 }, () => readAs(database, TITLES)));
  t.same(reads, Array(6).fill([{ title: 'mine' }]));
  const sent = proxy.log.slice(before).filter(fromClient);
  t.equal(sent.filter(isRead).length, 6);
  t.notOk(sent.some(isStatement('begin')) || sent.some(isStatement('commit')));
  for (const connection of [1, 2, 3]) {
    const talk = proxy.log.slice(before).filter((each) => each.connection === connection);
    const order = talk.filter((each) => isRead(each) || (each.from === 'server' && each.type === 'Z'));
    // A new connection starts with the responses to its login and its check.
    t.ok(
      order.slice(order.findIndex(isRead)).every((each, index) => isRead(each) === (index % 2 === 0)),
      'the next one is sent after the answer',
    );
  }
});

t.test('a read returns (json, text), for any selected columns', async (t) => {
  const { proxy, database } = await openRoute(t);
  for (const query of [TITLES, sql`select 1 as one, now() as at, null as none`, sql`select where false`]) {
    const before = proxy.log.length;
    await readAs(database, query);
    const described = proxy.log
      .slice(before)
      .filter(({ from, type, text }) => from === 'server' && type === 'T' && text.includes('tenant_context'));
    t.equal(described.length, 1);
    const types = ['tenant_context', 'result'].map((name) => {
      const text = described[0]?.text ?? '';
      // After the name follow the table (4 bytes), its column (2 bytes) and the type.
      const at = text.indexOf(`${name}\0`) + name.length + 1 + 6;
      return [name, Buffer.from(text, 'latin1').readUInt32BE(at)];
    });
    t.equal(described[0]?.text.charCodeAt(1), 2, 'two columns');
    t.same(types, [
      ['tenant_context', 114],
      ['result', 25],
    ]);
  }
});

t.test('a read locks app.members before the tables of its query, as a deploy does', async (t) => {
  const { database } = await openRoute(t);
  await readAs(database, TITLES);
  await db.queryAsAdmin('begin; lock table app.members');
  const reading = readAs(database, TITLES);
  const waiting = await until(
    () =>
      db.queryAsAdmin<{ pid: number }>(
        `select pid from pg_locks where not granted and relation = 'app.members'::regclass`,
      ),
    (rows) => rows.length > 0,
  );
  const locked = await db.queryAsAdmin(
    `select relation::regclass::text as name from pg_locks
     where granted and locktype = 'relation' and pid = $1 and relation <> 'app.members'::regclass
       and relation in (select oid from pg_class where relkind = 'r' and relnamespace = 'app'::regnamespace)`,
    [waiting[0]?.pid],
  );
  await db.queryAsAdmin('commit');
  t.equal(waiting.length, 1);
  t.same(locked, []);
  t.same(await reading, [{ title: 'mine' }]);
});

// The state after a read, and its rights.

t.test('a read leaves no tenant context, and the session can write again', async (t) => {
  const connection = new Connection({ url: db.url, prepare: true });
  t.teardown(() => connection.close());
  await connection.ready;
  const inside = sql`
    select app.tenant_id() as tenant, app.user_id() as user, current_setting('transaction_read_only') as "readOnly"`;
  const settings = sql`
    select current_setting('app.tenant_id', true) as tenant, current_setting('app.user_id', true) as user,
      current_setting('app.role', true) as role, current_setting('app.member_id', true) as member,
      current_setting('transaction_read_only') as "readOnly"`;
  const nothing = { tenant: '', user: '', role: '', member: '', readOnly: 'off' };
  for (const query of [inside, sql`select 1 / 0`, sql`select app.fail_with('23514')`]) {
    const end = await runStatement(connection, 'read', 'list', memberContext(anna, false), query).then(
      ({ rows }) => rows.map((row) => row.parse()),
      sqlstate,
    );
    t.same([...(await connection.query(settings))], [nothing]);
    await t.rejects(connection.query(TITLES), { code: 'TN001' }, 'a query without the tenant context raises');
    if (query === inside) {
      t.same(end, [{ tenant: club, user: 'anna', readOnly: 'on' }]);
    } else {
      t.type(end, 'string');
    }
  }
  t.notOk(connection.isDestroyed);
});

t.test('a read cannot write or enable writing; a write can', async (t) => {
  for (const lease of LEASES) {
    for (const [query, code] of [
      [sql`select app.sneak()`, '25006'],
      [sql`select app.sync_member('Other', null, null)`, '25006'],
      [sql`select set_config('transaction_read_only', 'off', true)`, '25001'],
      [sql`select set_config('transaction_read_only', 'off', true), app.sneak()`, '25001'],
    ] as const) {
      t.equal(await readAs(database, query, anna, lease).catch(sqlstate), code);
    }
  }
  t.same(await titles('sneaked'), []);
  await write((tx) => tx.query(sql`select app.sneak()`));
  t.same(await titles('sneaked'), ['sneaked']);
  await write((tx) => tx.query(sql`delete from app.tasks where title = 'sneaked'`));
});

t.test(
  'an undefined parameter is rejected before the driver gets it, and the connection is kept',
  async (t) => {
    const { proxy, database } = await openRoute(t);
    await readAs(database, TITLES);
    const before = proxy.log.length;
    const missing = undefined as unknown as Value;
    const reads = [
      async () => readAs(database, sql`select ${missing} as one`),
      async () => readAs(database, TITLES, { ...anna, displayName: undefined as unknown as null }),
    ];
    for (const refused of reads) {
      await t.rejects(refused(), TypeError);
    }
    t.equal(proxy.log.slice(before).filter(fromClient).length, 0, 'nothing was sent');
    t.same(await readAs(database, TITLES), [{ title: 'mine' }]);
    t.equal(database.connections.lost, 0);
    t.same(database.load, { inUse: 0, queued: 0 });
  },
);

t.test('an error of a read keeps the connection, and a retried read is sent twice in total', async (t) => {
  const { proxy, database } = await openRoute(t);
  await readAs(database, TITLES);
  for (const [code, attempts] of [
    ['40001', 2],
    ['40P01', 2],
    ['22012', 1],
    ['57014', 1],
  ] as const) {
    const before = proxy.log.length;
    t.equal(await readAs(database, sql`select app.fail_with(${code})`).catch(sqlstate), code);
    t.equal(proxy.log.slice(before).filter(isRead).length, attempts, code);
  }
  t.same(database.connections, { opened: 1, lost: 0 });
});

// The tenant context.

t.test('with an unknown club or test member the query is not evaluated', async (t) => {
  const { proxy, database } = await openRoute(t);
  const fails = sql`select app.fail_with('22012')`;
  const before = proxy.log.length;
  for (const [name, caller] of [
    ['TenantNotFound', { ...anna, tenantId: UNKNOWN_CLUB }],
    ['TestMemberNotFound', { ...anna, testMemberId: UNKNOWN_CLUB }],
  ] as const) {
    for (const lease of LEASES) {
      await t.rejects(readAs(database, fails, caller, lease), { name });
    }
  }
  t.equal(proxy.log.slice(before).filter(isRead).length, 4, 'one statement each');
  t.equal(await readAs(database, fails).catch(sqlstate), '22012', 'a member’s query is evaluated');
});

t.test('a closed club is TenantNotFound from the next read on', async (t) => {
  const closing = await db.makeClub('closing');
  const caller = callerOf(closing);
  t.same(await readAs(database, TITLES, caller), []);
  await db.queryAsAdmin(`update app.clubs set closed_at = now() where id = $1`, [closing]);
  await t.rejects(readAs(database, TITLES, caller), { name: 'TenantNotFound' });
});

t.test('a first request writes the member with a call, and reads again', async (t) => {
  const { proxy, database } = await openRoute(t);
  await readAs(database, TITLES);
  const before = proxy.log.length;
  const response = await readInTenant(
    database,
    callerOf(club, 'Member', 'berta'),
    'listTasks',
    bounded(sql`select app.member_id() as me, title from app.tasks`),
  );
  const [member] = await db.queryAsAdmin(
    `select id, role from app.members where external_user_id = 'berta' and tenant_id = $1`,
    [club],
  );
  t.same(member?.role, 'Member');
  t.equal(response.memberId, member?.id);
  t.same(
    response.rows.map((row) => row.parse()),
    [{ me: member?.id, title: 'mine' }],
  );
  const words = proxy.log.slice(before).flatMap((sent) => {
    const [operation] = /\/\* \w+ \*\/|^\w+/.exec(sent.statement ?? '') ?? [];
    return sent.type === 'B' ? [operation] : [];
  });
  t.same(words, ['/* listTasks */', '/* syncMember */', '/* listTasks */']);
});

t.test('a loss while the member is written says that nothing else was sent', async (t) => {
  const { proxy, database } = await openRoute(t);
  const west = await db.makeClub('west');
  proxy.onMessage = ({ type, statement = '' }) =>
    type === 'B' && statement.startsWith('/* syncMember */') ? 'cut after' : 'pass';
  const carla = callerOf(west, 'Member', 'carla');
  const refused = { name: 'Unavailable', committed: NOT_COMMITTED };
  await t.rejects(readAs(database, TITLES, carla), refused);
  const dora = callerOf(west, 'Manager', 'dora');
  await t.rejects(
    writeInTenant(database, dora, 'createTask', (tx) => tx.query(insert('unsent'))),
    refused,
  );
  t.same(await titles('unsent'), []);
  proxy.onMessage = () => 'pass';
  await writeInTenant(database, dora, 'createTask', (tx) => tx.query(insert('sent again')));
  t.same(await titles('sent again'), ['sent again']);
});

t.test(
  'a newer token with another name updates the member once; an older token changes nothing',
  async (t) => {
    const { proxy, database } = await openRoute(t);
    const named = (displayName: string, issuedAt: string) => ({
      ...callerOf(club, 'Member', 'carl'),
      displayName,
      issuedAt,
    });
    const me = sql`select display_name as name from app.members where id = (select app.member_id())`;
    const countOf = async (caller: Caller) => {
      const before = proxy.log.length;
      const [row] = await readAs<{ name: string }>(database, me, caller);
      return [row?.name, proxy.log.slice(before).filter(isRead).length];
    };
    t.same(await countOf(named('Carl', '2026-01-01T00:00:00Z')), ['Carl', 2]);
    t.same(await countOf(named('Carl', '2026-01-01T00:00:00Z')), ['Carl', 1]);
    t.same(await countOf(named('Carl II', '2026-01-02T00:00:00Z')), ['Carl II', 2]);
    t.same(await countOf(named('Carl', '2026-01-01T00:00:00Z')), ['Carl II', 1]);
  },
);

t.test(
  'two tokens of one second with different names both get a result, without an endless loop',
  async (t) => {
    const { proxy, database } = await openRoute(t, { size: 4 });
    const named = (displayName: string) => ({
      ...callerOf(club, 'Member', 'dora'),
      displayName,
      issuedAt: '2026-01-01T00:00:00Z',
    });
    const before = proxy.log.length;
    const names = Array.from({ length: 20 }, (_, turn) => (turn % 2 === 0 ? 'Dora' : 'Dorothea'));
    const reads = await Promise.all(names.map((name) => readAs(database, TITLES, named(name))));
    t.same(reads, Array(20).fill([{ title: 'mine' }]));
    t.ok(proxy.log.slice(before).filter(isRead).length <= 40, 'at most two reads each');
    const writes = await Promise.all(
      names.map((name) => writeInTenant(database, named(name), 'write', (tx) => tx.query(TITLES))),
    );
    t.same(writes, reads);
  },
);

t.test('the directory shows the given clubs, and leaves no context', async (t) => {
  const one = new Database({ url: db.url, size: 1, prepare: true, readsPerConnection: 8 });
  t.teardown(() => one.close());
  const clubs = sql`select id from app.my_clubs()`;
  const listed = async (clubIds: string[]) => {
    const rows = await readDirectory<{ id: string }>(one, { subject: 'anna', clubIds }, 'listMyClubs', clubs);
    return rows.map((row) => row.parse().id).sort();
  };
  t.same(await listed([club]), [club]);
  t.same(await listed([club, south, UNKNOWN_CLUB]), [club, south].sort());
  t.same(await listed([]), []);
  t.equal(
    await readDirectory(one, { subject: 'anna', clubIds: [club] }, 'listMyClubs', TITLES).catch(sqlstate),
    'TN001',
  );
  t.equal(await readOwn(one, 'own', clubs).catch(sqlstate), 'TN001');
});

t.test('the service’s own reads are in no club, and cannot write', async (t) => {
  t.same(await readOwn(database, 'own', sql`select 1 as one`), [{ one: 1 }]);
  t.equal(await readOwn(database, 'own', TITLES).catch(sqlstate), 'TN001');
  t.equal(await readOwn(database, 'own', sql`select app.sneak()`).catch(sqlstate), '25006');
});

// Answers.

t.test('times keep their microseconds, and unusual texts are unchanged', async (t) => {
  const odd = [
    `'"\\ \\\\ \\n \\u0041 ' " --`,
    'ends in +00:00',
    '2026-05-01T18:00:00+00:00',
    'Grüße 東京 🚣‍♀️ \u{10ffff}',
    'null',
    '[]',
    '{"a": 1}',
    '\t\r\n\x01\x7f',
    '$1 $$ %s {x}',
    'x'.repeat(100_000),
  ];
  const responses = await readAs(
    database,
    sql`
      select '2026-05-01 18:00:00.123456Z'::timestamptz as at, null as none, ${odd[0] as string}::text as text,
        9007199254740991 as big, true as yes, array['Open'] as words, '{"a":[1]}'::jsonb as json, 'infinity'::timestamptz as never`,
  );
  t.same(responses, [
    {
      ...{
        at: '2026-05-01T18:00:00.123456+00:00',
        none: null,
        text: odd[0],
        big: 9007199254740991,
        yes: true,
      },
      ...{ words: ['Open'], json: { a: [1] }, never: 'infinity' },
    },
  ]);
  for (const text of odd) {
    t.same(await readAs(database, sql`select ${text}::text as text`), [{ text }]);
    t.same(
      await readAs(database, sql`select ${text}::text as text where true`, { ...anna, displayName: 'anna' }),
      [{ text }],
    );
  }
  t.same(await readAs(database, sql`select where false`), []);
  const rows = await readAs<{ n: number }>(
    database,
    sql`select n from generate_series(1, 20000) as n order by n`,
  );
  t.same([rows.length, rows[0], rows.at(-1)], [20_000, { n: 1 }, { n: 20_000 }]);
});

/** Replaces bytes in the server's rows by others of the same length. */
const alterRows = (proxy: TestProxy, alter: (text: string) => string) => {
  proxy.onMessage = ({ from, type, text }) =>
    from === 'server' && type === 'D' ? { bytes: message('D', alter(text)) } : 'pass';
};

t.test('a result with another number, club or form is rejected and destroys the connection', async (t) => {
  const forgeries: Record<string, (text: string) => string> = {
    'another number': (text) => text.replace(/"request":"(\d*)\d"/, (_, digits) => `"request":"${digits}x"`),
    'another club': (text) => text.replace(`"entered_tenant_id":"${club}"`, `"entered_tenant_id":"${south}"`),
    'no number': (text) => text.replace('"request"', '"another"'),
    'no JSON': (text) => text.replace('{"request"', '["request"'),
  };
  for (const [name, alter] of Object.entries(forgeries)) {
    for (const lease of LEASES) {
      const { proxy, database } = await openRoute(t);
      await readAs(database, TITLES, anna, lease);
      const before = proxy.log.length;
      alterRows(proxy, alter);
      const error = await readAs(database, TITLES, anna, lease).catch((reason) => reason);
      t.match(error, { name: 'WrongResult', message: /the result of another request/ }, name);
      t.equal(proxy.log.slice(before).filter(isRead).length, 1, 'it is not sent again');
      t.equal(database.connections.lost, 1);
      proxy.onMessage = () => 'pass';
      t.same(await readAs(database, TITLES, anna, lease), [{ title: 'mine' }]);
      t.equal(proxy.accepted, 2, 'on another connection');
    }
  }
});

t.test('a result without a row, or of the directory for other clubs, is rejected as well', async (t) => {
  const { proxy, database } = await openRoute(t);
  await readAs(database, TITLES);
  proxy.onMessage = ({ from, type }) =>
    from === 'server' && type === 'D' ? { bytes: Buffer.alloc(0) } : 'pass';
  await t.rejects(readAs(database, TITLES), {
    name: 'WrongResult',
    message: /the result of another request/,
  });
  proxy.onMessage = () => 'pass';
  const clubs = sql`select id from app.my_clubs()`;
  t.equal(
    (await readDirectory(database, { subject: 'anna', clubIds: [club] }, 'listMyClubs', clubs)).length,
    1,
  );
  alterRows(proxy, (text) => text.replace(`{${club}}`, `{${south}}`));
  await t.rejects(readDirectory(database, { subject: 'anna', clubIds: [club] }, 'listMyClubs', clubs), {
    message: /the result of another request/,
  });
  t.equal(database.connections.lost, 2);
});

// Lost connections and deadlines.

t.test('a read on a lost connection is sent once more, and not a third time', async (t) => {
  for (const lease of LEASES) {
    for (const cuts of [1, 2]) {
      const { proxy, database } = await openRoute(t);
      await readAs(database, TITLES, anna, lease);
      const before = proxy.log.length;
      let left = cuts;
      proxy.onMessage = ({ from, type, text }) => {
        const isCut = from === 'server' && type === 'D' && text.includes('"request"') && left > 0;
        left -= isCut ? 1 : 0;
        return isCut ? 'cut before' : 'pass';
      };
      const end = await readAs(database, TITLES, anna, lease).catch((error) => error);
      if (cuts === 1) {
        t.same(end, [{ title: 'mine' }]);
      } else {
        t.type(end, ConnectionLost);
      }
      t.equal(proxy.log.slice(before).filter(isRead).length, 2);
      t.equal(proxy.accepted, 2);
    }
  }
});

t.test('a read that takes too long is rejected after 3.5 seconds, and not sent again', async (t) => {
  const advance = stopClock(t);
  const { proxy, database } = await openRoute(t);
  await readAs(database, TITLES);
  const before = proxy.log.length;
  const sent = () => proxy.log.slice(before).filter(isRead);
  const reading = readAs(database, sql`select pg_sleep(3600)`).catch((reason) => reason);
  await until(sent, ({ length }) => length === 1);
  await advance(SHARED_ATTEMPT_MS - 1);
  t.equal(database.connections.lost, 0);
  await advance(1);
  const error = await reading;
  t.match(error, { name: 'Unavailable', message: /took too long/ });
  t.notMatch(error, { name: 'ConnectionLost' });
  t.equal(database.connections.lost, 1);
  t.same(await readAs(database, TITLES), [{ title: 'mine' }]);
  t.equal(sent().length, 2, 'only the next one was sent');
});

t.test('a read that waits for a lock ends at lock_timeout, and its connection is kept', async (t) => {
  // A machine that stalls would let the read end at its own limit instead.
  stopClock(t);
  const { database } = await openRoute(t);
  await readAs(database, TITLES);
  await db.queryAsAdmin('begin; lock table app.tasks');
  const refused = await readAs(database, TITLES).catch(sqlstate);
  await db.queryAsAdmin('commit');
  t.equal(refused, '55P03');
  t.same(database.connections, { opened: 1, lost: 0 });
});
