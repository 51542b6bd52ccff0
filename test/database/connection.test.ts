import { setImmediate } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Connection, type ConnectionOptions } from '../../src/database/connection.js';
import { ConnectionLost, Unavailable } from '../../src/database/errors.js';
import { type Statement, sql } from '../../src/database/sql.js';
import { type Advance, stopClock } from '../setup/clock.js';
import { makeDatabase } from '../setup/database.js';
import { isStatement, message, startProxy, type TestProxy } from '../setup/proxy.js';
import { withoutTimeLimits } from '../setup/runtime.js';
import { until } from '../setup/wait.js';

const db = await makeDatabase(t);
/** As in src/database/connection.ts. */
const CONNECT_TIMEOUT_MS = 2_000;
/** It ends only with its session. */
const SLEEP = sql`select pg_sleep(3600)`;
const PID = sql`select pg_backend_pid() as pid`;

function open(t: Test, options: Partial<ConnectionOptions> = {}, onDestroyed?: () => void): Connection {
  const { url = db.url, prepare = true } = options;
  const connection = new Connection({ url: withoutTimeLimits(url), prepare }, onDestroyed);
  t.teardown(() => connection.destroy(new Error('the test is over')));
  return connection;
}

const pidOf = async (connection: Connection): Promise<number> =>
  (await connection.query<{ pid: number }>(PID))[0]?.pid as number;
const isAlive = async (pid: number) =>
  (await db.queryAsAdmin('select from pg_stat_activity where pid = $1', [pid])).length > 0;
const untilSleeping = (pid: number) =>
  until(
    () => db.queryAsAdmin(`select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'`, [pid]),
    (rows) => rows.length > 0,
  );
/** The result of a statement. */
const endOf = (statement: Promise<unknown>): Promise<unknown> =>
  statement.then(
    () => 'answered',
    (error) => error,
  );

/** Tests that a connection, whose end it has seen, does not connect again: a later one would be accepted after that. */
async function neverReconnects(t: Test, proxy: TestProxy, advance: Advance): Promise<void> {
  const { accepted } = proxy;
  proxy.onMessage = () => 'pass';
  // The pauses of a driver that tries again.
  await advance(60_000);
  await open(t, { url: proxy.url }).ready;
  t.same([accepted, proxy.accepted], [1, 2], 'it was accepted once');
}

t.test('a connection has one socket: once lost, it fails every statement and never reconnects', async (t) => {
  const losses = {
    'a kill of its backend': async (pid: number) => db.queryAsAdmin('select pg_terminate_backend($1)', [pid]),
    'a cut': async (_: number, cut: () => void) => cut(),
  };
  const advance = stopClock(t);
  for (const [name, lose] of Object.entries(losses)) {
    const proxy = await startProxy(t, db.url);
    let destroyed = 0;
    const connection = open(t, { url: proxy.url }, () => {
      destroyed += 1;
    });
    await connection.ready;
    const pid = await pidOf(connection);
    const inFlight = [
      endOf(connection.query(SLEEP)),
      endOf(connection.query(PID)),
      endOf(connection.query(SLEEP)),
    ];
    await untilSleeping(pid);
    await lose(pid, proxy.cut);
    for (const end of await Promise.all(inFlight)) {
      t.type(end, ConnectionLost, name);
    }
    t.ok(connection.isDestroyed);
    t.equal(destroyed, 1);
    for (const statement of [PID, sql`begin`, sql`rollback`]) {
      const end = await Promise.race([
        connection.query(statement).catch((error) => error),
        setImmediate('not refused at once'),
      ]);
      t.type(end, ConnectionLost, 'a later statement');
    }
    await neverReconnects(t, proxy, advance);
    t.notOk(
      await until(
        () => isAlive(pid),
        (alive) => !alive,
      ),
      'its backend has ended',
    );
  }
});

t.test('the loss of an idle connection is noticed', async (t) => {
  const advance = stopClock(t);
  const proxy = await startProxy(t, db.url);
  let destroyed = 0;
  const connection = open(t, { url: proxy.url }, () => {
    destroyed += 1;
  });
  await connection.ready;
  await db.queryAsAdmin('select pg_terminate_backend($1)', [await pidOf(connection)]);
  t.ok(await until(() => connection.isDestroyed, Boolean));
  t.equal(destroyed, 1);
  t.type(await endOf(connection.query(PID)), ConnectionLost);
  await neverReconnects(t, proxy, advance);
});

t.test(
  'destroying a connection fails its statements at once, even on a frozen network, and can be repeated',
  async (t) => {
    const advance = stopClock(t);
    const proxy = await startProxy(t, db.url);
    let destroyed = 0;
    const connection = open(t, { url: proxy.url }, () => {
      destroyed += 1;
    });
    await connection.ready;
    let isFrozen = false;
    proxy.onMessage = () => {
      isFrozen = true;
      return 'freeze';
    };
    const inFlight = [endOf(connection.query(SLEEP)), endOf(connection.query(PID))];
    await until(() => isFrozen, Boolean);
    const reason = new Unavailable('on purpose');
    connection.destroy(reason);
    connection.destroy(new Error('again'));
    for (const end of await Promise.all(inFlight)) {
      t.match(end, { name: 'ConnectionLost', cause: reason });
    }
    t.equal(destroyed, 1);
    await neverReconnects(t, proxy, advance);
  },
);

t.test('a backend whose connection is destroyed ends, even in the middle of a statement', async (t) => {
  const connection = open(t);
  await connection.ready;
  const pid = await pidOf(connection);
  const sleeping = endOf(connection.query(SLEEP));
  await untilSleeping(pid);
  connection.destroy(new Error('on purpose'));
  await sleeping;
  t.notOk(
    await until(
      () => isAlive(pid),
      (alive) => !alive,
    ),
    'client_connection_check_interval ends it',
  );
});

t.test('an error of one statement does not affect the other statements in the pipeline', async (t) => {
  const connection = open(t);
  await connection.ready;
  const pid = await pidOf(connection);
  const divide = (by: number) => connection.query(sql`select 1 / ${by}::int as one`);
  await divide(1);
  const ends = await Promise.allSettled([
    divide(1),
    divide(0),
    connection.query(sql`select nothing`),
    divide(1),
  ]);
  t.match(ends, [
    { status: 'fulfilled', value: [{ one: 1 }] },
    { status: 'rejected', reason: { code: '22012', severity: 'ERROR' } },
    { status: 'rejected', reason: { code: '42703' } },
    { status: 'fulfilled', value: [{ one: 1 }] },
  ]);
  t.equal(await pidOf(connection), pid);
  t.notOk(connection.isDestroyed);
});

t.test('closing ends the session with Terminate, and refuses later statements', async (t) => {
  const proxy = await startProxy(t, db.url);
  let destroyed = 0;
  const connection = open(t, { url: proxy.url }, () => {
    destroyed += 1;
  });
  await connection.ready;
  await connection.close();
  t.ok(
    proxy.log.some(({ from, type }) => from === 'client' && type === 'X'),
    'Terminate was sent',
  );
  t.type(await endOf(connection.query(PID)), ConnectionLost);
  t.equal(destroyed, 0, 'it is closed, not lost');
  await connection.close();
});

t.test('closing resolves or rejects every statement in flight', async (t) => {
  for (const turns of [0, 1, 5]) {
    const connection = open(t);
    await connection.ready;
    const inFlight = [1, 2, 3].map((n) =>
      endOf(connection.query(sql`select pg_sleep(0.01), ${n}::int as number`)),
    );
    for (let turn = 0; turn < turns; turn += 1) {
      await setImmediate();
    }
    await connection.close();
    for (const end of await Promise.all(inFlight)) {
      t.ok(end === 'answered' || end instanceof ConnectionLost);
    }
  }
});

t.test('a connection is opened and checked within two seconds, or destroyed with a reason', async (t) => {
  const advance = stopClock(t);
  const moments: Record<string, Pick<Partial<TestProxy>, 'greeting' | 'onMessage'>> = {
    'when it is accepted': { greeting: 'say nothing' },
    'at authentication': {
      onMessage: ({ from, type }) => (from === 'server' && type === 'R' ? 'freeze' : 'pass'),
    },
    'at the check of the session': {
      onMessage: ({ from, type }) => (from === 'client' && type === 'P' ? 'freeze' : 'pass'),
    },
  };
  for (const [name, { greeting = 'connect', onMessage = () => 'pass' as const }] of Object.entries(moments)) {
    const proxy = await startProxy(t, db.url);
    let isFrozen = false;
    proxy.greeting = greeting;
    proxy.onMessage = (sent) => {
      const action = onMessage(sent);
      isFrozen ||= action === 'freeze';
      return action;
    };
    const connection = open(t, { url: proxy.url });
    const end = endOf(connection.ready);
    await until(() => isFrozen || (greeting !== 'connect' && proxy.accepted === 1), Boolean);
    await advance(CONNECT_TIMEOUT_MS - 1);
    t.notOk(connection.isDestroyed, name);
    await advance(1);
    t.match(await end, { name: 'ConnectionLost', cause: { message: /not ready in time/ } }, name);
    t.equal(proxy.accepted, 1);
  }
});

t.test(
  'a warning that contradicts the transaction state destroys the connection; other notices do not',
  async (t) => {
    const notices: [name: string, statements: Statement[], isDestroyed: boolean][] = [
      ['25001: BEGIN in a transaction', [sql`begin`, sql`begin`], true],
      ['25P01: COMMIT outside of a transaction', [sql`commit`], true],
      ['25P01: ROLLBACK outside of a transaction', [sql`rollback`], true],
      ['a NOTICE', [sql`do $$ begin raise notice 'hello'; end $$`], false],
      ['another WARNING', [sql`do $$ begin raise warning 'hello'; end $$`], false],
      ['no warning', [sql`begin`, sql`commit`, sql`begin`, sql`rollback`], false],
    ];
    for (const [name, statements, isDestroyed] of notices) {
      const connection = open(t);
      await connection.ready;
      for (const statement of statements) {
        await connection.query(statement).catch(() => {});
      }
      t.equal(connection.isDestroyed, isDestroyed, name);
    }
  },
);

t.test(
  'a ROLLBACK after a failed COMMIT may be outside of a transaction; the next one may not',
  async (t) => {
    const connection = open(t);
    await connection.ready;
    t.equal((await connection.rollbackAfterFailedCommit(sql`rollback`)).command, 'ROLLBACK');
    t.notOk(connection.isDestroyed);
    await connection.query(sql`rollback`).catch(() => {});
    t.ok(connection.isDestroyed);
  },
);

t.test(
  'a row that cannot be read destroys the connection; one that is missing or incomplete does not',
  async (t) => {
    const proxy = await startProxy(t, db.url);
    // What the server sends in the place of a row; the driver waits for the rest of an incomplete message.
    for (const [name, bytes, expected] of [
      ['a row that is shorter than it says', message('D', '\x7f\x7f'), ConnectionLost],
      ['no row, but a BindComplete', message('2', ''), []],
      ['a part of a message', Buffer.from('\xff\xff\xff\xff\xff', 'latin1'), 'nothing'],
    ] as const) {
      const connection = open(t, { url: proxy.url });
      await connection.ready;
      await connection.query(PID);
      proxy.onMessage = ({ from, type }) => (from === 'server' && type === 'D' ? { bytes } : 'pass');
      const sent = proxy.log.length;
      const ending = connection.query(PID).then(
        (rows) => [...rows],
        (error) => error.constructor,
      );
      if (expected === 'nothing') {
        // The end of the result was forwarded, and a round trip to the same server has passed.
        await until(
          () => proxy.log.slice(sent),
          (log) => log.some(({ from, type }) => from === 'server' && type === 'Z'),
        );
        await db.queryAsAdmin('select');
      }
      const end: unknown = await (expected === 'nothing'
        ? Promise.race([ending, setImmediate('nothing')])
        : ending);
      proxy.onMessage = () => 'pass';
      t.same(end, expected, name);
      t.equal(connection.isDestroyed, expected === ConnectionLost, name);
    }
  },
);

// Values.

t.test(
  'values are parsed by their types: text, empty text, null, numbers, booleans, JSON, text arrays',
  async (t) => {
    const connection = open(t);
    await connection.ready;
    for (const [statement, row] of [
      [
        sql`select 'plain' as text, '' as nothing, null::text as none`,
        { text: 'plain', nothing: '', none: null },
      ],
      [
        sql`select 42 as number, -7::smallint as small, 1.5::float8 as half`,
        { number: 42, small: -7, half: 1.5 },
      ],
      [
        sql`select 9007199254740993::bigint as big, 0.1::numeric as exact`,
        { big: '9007199254740993', exact: '0.1' },
      ],
      [
        sql`select true as yes, false as no, null::boolean as neither`,
        { yes: true, no: false, neither: null },
      ],
      [sql`select '{"a":[1,"é"]}'::json as json, '[]'::jsonb as jsonb`, { json: { a: [1, 'é'] }, jsonb: [] }],
      [
        sql`select to_json(array['Open','a,"b"']) as words, to_json('{}'::text[]) as none`,
        { words: ['Open', 'a,"b"'], none: [] },
      ],
      [
        sql`select 'Grüße, 北, 🚣‍♀️' as text, repeat('ü', 100000) as long`,
        { text: 'Grüße, 北, 🚣‍♀️', long: 'ü'.repeat(100_000) },
      ],
      [
        sql`select chr(127) as a, chr(128) as b, chr(255) as c, chr(1114111) as d`,
        { a: '\x7f', b: '\x80', c: 'ÿ', d: '\u{10ffff}' },
      ],
    ] as [Statement, object][]) {
      t.same([...(await connection.query(statement))], [row]);
      t.same([...(await connection.query(statement))], [row], 'prepared');
    }
    t.same([...(await connection.query(sql`select where false`))], []);
    t.equal((await connection.query(sql`select from generate_series(1, 3)`)).length, 3);
  },
);

t.test('timestamps keep their microseconds in both directions, and infinity is kept', async (t) => {
  const [{ name } = { name: '' }] = await db.queryAsAdmin<{ name: string }>(
    'select current_database() as name',
  );
  await db.queryAsAdmin(`alter database ${name} set datestyle = 'German'`);
  await db.queryAsAdmin(`alter database ${name} set timezone = 'Europe/Berlin'`);
  for (const prepare of [true, false]) {
    const connection = open(t, { prepare });
    await connection.ready;
    for (const instant of [
      '2026-05-01T18:00:00.123456Z',
      '1970-01-01T00:00:00.000001Z',
      '2199-12-31T23:59:59.999999Z',
      '2026-05-01T18:00:00Z',
      'infinity',
    ]) {
      const sent = await connection.query(sql`select ${instant}::timestamptz as instant`);
      t.same([...sent], [{ instant }]);
    }
  }
});

t.test('parameters are stored unchanged, for every parameter type', async (t) => {
  const connection = open(t);
  await connection.ready;
  const odd = `'; drop table app.tasks; -- "\\ $1 ${'é🚣'.repeat(2_000)}`;
  const words = ['Open', '', 'a,b', 'null', '{}', '"\\"', ' x ', 'ä\n🚣', odd];
  const statement = sql`
    select ${odd}::text as text, ${7}::int as int, ${true}::boolean as truth, ${null}::text as none,
      ${'{"a": "\\\\"}'}::jsonb ->> 'a' as json, to_json(${words}::text[]) as words,
      ${[]}::text[] = '{}' as nothing, ${'a,b'} = any(${words}) as found, ${'a'} = any(${words}) as part, ${'0.10'}::numeric as exact,
      ${'\\x00ff'}::bytea = '\\x00ff'::bytea as bytes, ${'2026-05-01'}::date = date '2026-05-01' as day`;
  for (const _ of ['described', 'prepared']) {
    t.same(
      [...(await connection.query(statement))],
      [
        {
          text: odd,
          int: 7,
          truth: true,
          none: null,
          json: '\\',
          words,
          nothing: true,
          found: true,
          part: false,
          exact: '0.10',
          bytes: true,
          day: true,
        },
      ],
    );
  }
});

t.test('rows are complete wherever the network splits a result', async (t) => {
  const connection = open(t);
  await connection.ready;
  const rows = await connection.query<{ number: number; text: string | null }>(sql`
    select i as number, nullif(repeat('é', i % 4), '') as text from generate_series(1, 200000) as i`);
  t.equal(rows.length, 200_000);
  t.equal(rows.command, 'SELECT');
  const wrong = rows.filter(
    ({ number, text }, index) => number !== index + 1 || text !== ('é'.repeat((index + 1) % 4) || null),
  );
  t.same(wrong, []);
});

t.test('a statement is parsed once per connection, or each time without prepared statements', async (t) => {
  for (const [prepare, parses] of [
    [true, 1],
    [false, 3],
  ] as const) {
    const proxy = await startProxy(t, db.url);
    const connection = open(t, { url: proxy.url, prepare });
    await connection.ready;
    for (const value of ['1', '2', '3']) {
      await connection.query(sql`select ${value}::text as value`);
    }
    const ofStatement = proxy.log.filter(
      ({ type, statement }) => type === 'P' && statement?.includes('as value'),
    );
    t.equal(ofStatement.length, parses);
    t.equal(
      proxy.log.filter((sent) => isStatement('select')(sent) && sent.statement?.includes('as value')).length,
      3,
    );
  }
});
