import t, { type Test } from 'tap';
import { Connection } from '../../src/database/connection.js';
import type { Context } from '../../src/database/context.js';
import { Database } from '../../src/database/database.js';
import { ConnectionLost, isStatementError, WrongResult } from '../../src/database/errors.js';
import { type Statement, sql, type Value } from '../../src/database/sql.js';
import { memberContext, writeInTenant } from '../../src/database/tenant-context.js';
import { type AccessMode, runTransaction, type Transaction } from '../../src/database/transaction.js';
import { tenantForbidden } from '../../src/errors/auth.js';
import { Problem } from '../../src/errors/problem.js';
import { shiftNotFound } from '../../src/shifts/errors.js';
import { shiftFull } from '../../src/signups/errors.js';
import { isStatement, type Message, message, startProxy, type TestProxy } from '../setup/proxy.js';
import { until } from '../setup/wait.js';
import { callerOf, makeWork, NOT_COMMITTED, sqlstate } from '../setup/work.js';

const { db, club, database, anna, size, write, insert, titles } = await makeWork(t);
const pooled = new Database({ url: db.url, size: 1, prepare: false, readsPerConnection: 1 });
t.teardown(() => pooled.close());

const AT_REST = { inUse: 0, queued: 0 };
const PID = sql`select pg_backend_pid() as pid`;
const fails = (code: string): Statement => sql`select app.fail_with(${code})`;

await db.queryAsAdmin(`
  create function app.fail_with(code text) returns void language plpgsql as
    $$ begin raise exception using errcode = code, message = 'on purpose'; end $$;
  grant execute on function app.fail_with(text) to club_api;
  create table app.gates (id int primary key, held int);
  insert into app.gates values (1, 0), (2, 0);
  grant select, update on app.gates to club_api;
  create function app.refuse_at_commit() returns trigger language plpgsql as
    $$ begin raise exception using errcode = substr(new.title, 8), message = 'on purpose'; end $$;
  create constraint trigger refuse_at_commit after insert on app.tasks
    deferrable initially deferred for each row when (new.title like 'commit %') execute function app.refuse_at_commit()`);

/** A connection of the test's own. */
async function connect(t: Test, url = db.url): Promise<Connection> {
  const connection = new Connection({ url, prepare: true });
  t.teardown(() => connection.destroy(new Error('the test is over')));
  await connection.ready;
  return connection;
}

/** The tenant context of Anna. */
const context = (change: Partial<Context<unknown>> = {}): Context<unknown> => ({
  ...memberContext(anna, false),
  parse: () => {},
  ...change,
});
const transact = <Result>(
  connection: Connection,
  work: (tx: Transaction) => Promise<Result>,
  of = context(),
) => runTransaction(connection, 'read write', 'write', of, work);

// The caller's work.

t.test(
  'work that ignores a failed query cannot commit, and later queries fail with the same error',
  async (t) => {
    let later: unknown;
    const run = write(async (tx) => {
      await tx.query(insert('swallowed'));
      await tx.query(sql`select 1 / 0`).catch(() => {});
      later = await tx.query(insert('swallowed')).catch(sqlstate);
    });
    t.equal(await run.catch(sqlstate), '22012');
    t.equal(later, '22012');
    t.same(await titles('swallowed'), []);
  },
);

t.test('a query after the end is rejected, and never reaches the next transaction', async (t) => {
  let kept: Transaction | undefined;
  await write(async (tx) => {
    kept = tx;
  });
  await t.rejects((kept as unknown as Transaction).query(insert('late')), /has ended/);
  await write((tx) => tx.query(sql`select`));
  t.same(await titles('late'), []);
});

t.test('queries that the work does not await are part of the transaction, in order', async (t) => {
  await write(async (tx) => {
    void tx.query(insert('unawaited 1'));
    void tx.query(insert('unawaited 2'));
  });
  t.same(await titles('unawaited%'), ['unawaited 1', 'unawaited 2']);
  const run = write(async (tx) => {
    void tx.query(insert('unawaited 3'));
    void tx.query(sql`select 1 / 0`);
    void tx.query(insert('unawaited 4'));
  });
  t.equal(await run.catch(sqlstate), '22012');
  t.same(await titles('unawaited%'), ['unawaited 1', 'unawaited 2']);
});

t.test('work that throws commits nothing, for any value and at any time', async (t) => {
  const works: ((tx: Transaction) => Promise<unknown>)[] = [
    async () => {
      throw new Error('at once');
    },
    async (tx) => {
      void tx.query(insert('thrown'));
      throw new Error('before the answer');
    },
    async (tx) => {
      await tx.query(insert('thrown'));
      throw new Problem(shiftFull);
    },
    async (tx) => {
      await tx.query(insert('thrown'));
      throw undefined;
    },
  ];
  const { lost } = database.connections;
  for (const work of works) {
    await write(work).then(
      () => t.fail('must throw'),
      () => t.pass('throws'),
    );
  }
  t.same(await titles('thrown'), []);
  t.same(database.load, AT_REST);
  t.equal(
    database.connections.lost,
    lost,
    'ROLLBACK ends the transactions, and each connection is used again',
  );
});

t.test(
  'an undefined parameter is rejected before the driver gets it, and the connection is kept',
  async (t) => {
    const { lost } = database.connections;
    const run = write(async (tx) => {
      await tx.query(insert('half'));
      await tx.query(sql`insert into app.tasks (title) values (${undefined as unknown as Value})`);
    });
    await t.rejects(run, TypeError);
    t.same(await titles('half'), []);
    t.same(await write((tx) => tx.query(sql`select 1 as one`)), [{ one: 1 }]);
    t.equal(database.connections.lost, lost);
  },
);

t.test('a new member is committed even if the work fails, and nothing else is', async (t) => {
  for (const subject of ['berta', 'carl']) {
    let memberId: string | undefined;
    const run = writeInTenant(database, callerOf(club, 'Manager', subject), 'write', async (tx) => {
      await tx.query(insert(`of ${subject}`));
      ({ memberId } = tx.context);
      if (subject === 'carl') throw new Problem(shiftNotFound);
    });
    await (subject === 'carl' ? t.rejects(run, { code: 'shift_not_found' }) : run);
    const [member] = await db.queryAsAdmin('select id, role from app.members where external_user_id = $1', [
      subject,
    ]);
    t.same(member, { id: memberId, role: 'Manager' });
  }
  t.same(await titles('of %'), ['of berta']);
});

t.test('a club that does not exist is TenantNotFound, and nothing is read or written', async (t) => {
  const unknown = { ...callerOf(club), tenantId: '99999999-9999-4999-8999-999999999999' };
  for (const at of [database, pooled]) {
    let seen: unknown;
    const run = writeInTenant(at, unknown, 'write', async (tx) => {
      seen = await tx.query(sql`select title from app.tasks`);
    });
    await t.rejects(run, { name: 'TenantNotFound' });
    t.equal(seen, undefined);
    const silent = writeInTenant(at, unknown, 'write', async () => 'it asked nothing');
    await t.rejects(silent, { name: 'TenantNotFound' });
  }
});

t.test(
  'a read transaction has one snapshot and cannot write; a write transaction sees the newest rows',
  async (t) => {
    for (const [mode, seen, refused] of [
      ['read only', 0, '25006'],
      ['read write', 1, undefined],
    ] as [AccessMode, number, unknown][]) {
      for (const at of [database, pooled]) {
        const title = `between ${mode} ${at === pooled}`;
        const count = sql`select count(*)::int as count from app.tasks where title = ${title}`;
        const after = await at.transaction({
          operation: 'several',
          mode,
          context: context(),
          work: async (tx) => {
            await tx.query(count);
            await write((other) => other.query(insert(title)));
            return tx.query(count);
          },
        });
        t.same(after, [{ count: seen }], title);
        const writing = at.transaction({
          operation: 'several',
          mode,
          context: context(),
          work: (tx) => tx.query(insert(`by ${mode}`)),
        });
        t.equal(await writing.then(() => undefined, sqlstate), refused);
      }
    }
  },
);

// Retries.

t.test('a serialization failure or a deadlock is tried twice in total; another failure once', async (t) => {
  for (const [code, attempts] of [
    ['40001', 2],
    ['40P01', 2],
    ['55P03', 1],
    ['57014', 1],
    ['23505', 1],
    ['SH004', 1],
  ] as const) {
    for (const times of [1, 9]) {
      let runs = 0;
      const run = write((tx) => tx.query(++runs > times ? sql`select` : fails(code)));
      t.equal(await run.then(() => 'kept', sqlstate), times < attempts ? 'kept' : code, `${code} × ${times}`);
      t.equal(runs, Math.min(attempts, times + 1));
    }
  }
});

t.test('two transactions that deadlock both succeed', async (t) => {
  let [met, ended] = [0, 0];
  const meet = (first: number, second: number) => {
    let runs = 0;
    return write(async (tx) => {
      runs += 1;
      // The other transaction continues, or the second attempt deadlocks again.
      await (runs > 1 &&
        until(
          () => ended,
          (count) => count === 1,
        ));
      await tx.query(sql`update app.gates set held = held + 1 where id = ${first}`);
      met += 1;
      await until(
        () => met,
        (count) => count >= 2,
      );
      await tx.query(sql`update app.gates set held = held + 1 where id = ${second}`);
    }).then(() => {
      ended += 1;
    });
  };
  await Promise.all([meet(1, 2), meet(2, 1)]);
  t.same(await db.queryAsAdmin('select held from app.gates order by id'), [{ held: 2 }, { held: 2 }]);
});

t.test('after a change of a table’s columns no transaction fails, on any connection', async (t) => {
  for (const at of ['first', 'second']) {
    const select = () =>
      write(async (tx) => {
        await (at === 'second' && tx.query(sql`select`));
        return tx.query(sql`select * from app.gates where id = ${1}`);
      });
    await Promise.all(Array.from({ length: size }, select));
    await db.queryAsAdmin(`alter table app.gates add column at_${at} text`);
    for (const rows of await Promise.all(Array.from({ length: size }, select))) {
      t.match(rows, [{ id: 1, [`at_${at}`]: null }]);
    }
  }
  t.same(database.load, AT_REST);
});

// The end of a transaction.

t.test(
  'an ERROR at COMMIT is reported, nothing is committed, and the connection is used again',
  async (t) => {
    const one = new Database({ url: db.url, size: 1, prepare: true, readsPerConnection: 1 });
    t.teardown(() => one.close());
    for (const at of [one, pooled]) {
      const pid = () => writeInTenant(at, anna, 'write', (tx) => tx.query(PID));
      const before = await pid();
      for (const [code, attempts] of [
        ['23514', 1],
        ['40001', 2],
        ['40P01', 2],
      ] as const) {
        let runs = 0;
        const run = writeInTenant(at, anna, 'write', (tx) => {
          runs += 1;
          return tx.query(insert(`commit ${code}`));
        });
        t.equal(await run.catch(sqlstate), code);
        t.equal(runs, attempts, `${attempts} attempts of ${code} at COMMIT`);
        t.same(await pid(), before);
      }
      t.equal(at.connections.lost, 0);
    }
    t.same(await titles('commit%'), []);
  },
);

t.test(
  'a COMMIT that the server turns into a ROLLBACK is Unavailable, and nothing is committed',
  async (t) => {
    const connection = await connect(t);
    const run = transact(connection, async (tx) => {
      await tx.query(insert('unknown failure'));
      await connection.query(sql`select 1 / 0`).catch(() => {});
    });
    await t.rejects(run, { name: 'Unavailable', committed: NOT_COMMITTED });
    t.same(await titles('unknown failure'), []);
    t.notOk(connection.isDestroyed);
  },
);

t.test(
  'a COMMIT outside of a transaction has an unknown outcome, and the connection is destroyed',
  async (t) => {
    const connection = await connect(t);
    const run = transact(connection, async (tx) => {
      await tx.query(insert('ended'));
      await tx.query(sql`commit`);
    });
    await t.rejects(run, {
      name: 'Unavailable',
      committed: 'unknown',
      cause: { cause: { message: /25P01/ } },
    });
    t.ok(connection.isDestroyed);
  },
);

t.test(
  'a ROLLBACK outside of a transaction is a protocol violation: the connection is destroyed',
  async (t) => {
    const connection = await connect(t);
    const run = transact(connection, async (tx) => {
      await tx.query(sql`rollback`);
      throw new Problem(shiftFull);
    });
    await t.rejects(run, { code: 'shift_full' });
    t.ok(connection.isDestroyed);
  },
);

t.test(
  'a BEGIN inside a transaction is a protocol violation: its results are rejected, and the connection is destroyed',
  async (t) => {
    const connection = await connect(t);
    await connection.query(sql`begin`);
    let seen: unknown;
    const run = transact(connection, async (tx) => {
      seen = await tx.query(sql`select 1`);
    });
    await t.rejects(run, { name: 'ConnectionLost', committed: NOT_COMMITTED, cause: { message: /25001/ } });
    t.equal(seen, undefined);
    t.ok(connection.isDestroyed);
  },
);

t.test('a FATAL error destroys the connection, and the transaction is Unavailable', async (t) => {
  const connection = await connect(t);
  const run = transact(connection, async (tx) => {
    await tx.query(insert('fatal'));
    await tx.query(sql`select pg_terminate_backend(pg_backend_pid())`);
  });
  await t.rejects(run, {
    name: 'ConnectionLost',
    committed: NOT_COMMITTED,
    cause: { message: 'the connection closed' },
  });
  t.ok(connection.isDestroyed);
  t.same(await titles('fatal'), []);
});

t.test('a command tag other than the expected one destroys the connection', async (t) => {
  for (const [tag, committed] of [
    ['BEGIN', NOT_COMMITTED],
    ['COMMIT', 'unknown'],
    ['ROLLBACK', undefined],
  ] as const) {
    const proxy = await startProxy(t, db.url);
    proxy.onMessage = ({ from, type, text }) =>
      from === 'server' && type === 'C' && text === `${tag}\0`
        ? { bytes: message('C', 'PREPARE\0') }
        : 'pass';
    const connection = await connect(t, proxy.url);
    const run = transact(connection, async (tx) => {
      await tx.query(sql`select`);
      if (tag === 'ROLLBACK') throw new Problem(shiftFull);
    });
    await t.rejects(
      run,
      committed === undefined ? { code: 'shift_full' } : { name: 'Unavailable', committed },
    );
    t.ok(connection.isDestroyed, tag);
  }
});

t.test('a failed ROLLBACK destroys the connection: it may still be in the transaction', async (t) => {
  const refusal = message('E', 'SERROR\0VERROR\0C57014\0Mcanceling statement due to user request\0\0');
  for (const [title, expected] of [
    ['refused', { code: 'shift_full' }],
    ['commit 23514', { code: '23514' }],
  ] as const) {
    const proxy = await startProxy(t, db.url);
    proxy.onMessage = ({ from, type, text }) =>
      from === 'server' && type === 'C' && text === 'ROLLBACK\0' ? { bytes: refusal } : 'pass';
    const connection = await connect(t, proxy.url);
    const run = transact(connection, async (tx) => {
      await tx.query(insert(title));
      if (title === 'refused') throw new Problem(shiftFull);
    });
    await t.rejects(run, expected);
    t.ok(connection.isDestroyed, title);
  }
});

// The order of messages.

/** Statements and their responses, in the order in which they passed the proxy. */
const talkOf = (log: Message[]) =>
  log.flatMap(({ from, type, statement }) => {
    const [word] = /^\w+/.exec(statement?.replace(/^\/\*.*?\*\/\s*/, '') ?? '') ?? [];
    return from === 'client'
      ? type === 'P'
        ? [`prepare ${word}`]
        : type === 'B'
          ? [word]
          : []
      : type === 'Z'
        ? ['answer']
        : [];
  });

t.test(
  'BEGIN and the tenant context are pipelined; each statement is sent after the previous result',
  async (t) => {
    const proxy = await startProxy(t, db.url);
    const connection = await connect(t, proxy.url);
    const run = () =>
      transact(connection, async (tx) => {
        void tx.query(insert('leaves 1'));
        void tx.query(sql`update app.tasks set title = ${'leaves 2'} where title = ${'leaves 1'}`);
        void tx.query(sql`delete from app.tasks where title = ${'leaves 2'}`);
      });
    await run();
    const before = proxy.log.length;
    await run();
    t.same(talkOf(proxy.log.slice(before)), [
      ...['begin', 'with', 'answer', 'answer', 'insert', 'answer'],
      ...['update', 'answer', 'delete', 'answer', 'commit', 'answer'],
    ]);
  },
);

t.test('without prepared statements each statement is sent after the previous result', async (t) => {
  const proxy = await startProxy(t, db.url);
  const connection = new Connection({ url: proxy.url, prepare: false });
  t.teardown(() => connection.destroy(new Error('the test is over')));
  await connection.ready;
  const before = proxy.log.length;
  await transact(connection, (tx) => tx.query(insert('unprepared')));
  t.same(
    talkOf(proxy.log.slice(before)).filter((word) => !word?.startsWith('prepare')),
    ['begin', 'answer', 'with', 'answer', 'insert', 'answer', 'commit', 'answer'],
  );
});

t.test('COMMIT is sent after the result of every statement, and never after a failed one', async (t) => {
  const proxy = await startProxy(t, db.url);
  const connection = await connect(t, proxy.url);
  await transact(connection, (tx) => tx.query(insert('sent')));
  const before = proxy.log.length;
  const run = transact(connection, async (tx) => {
    await tx.query(insert('sent'));
    void tx.query(sql`select 1 / 0`);
  });
  t.equal(await run.catch(sqlstate), '22012');
  t.same(talkOf(proxy.log.slice(before)).slice(-2), ['rollback', 'answer']);
  t.notOk(proxy.log.slice(before).some(isStatement('commit')));
});

/** Makes the server reject each BEGIN, as a standby does. */
const refuseBegin = (proxy: TestProxy) => {
  proxy.onMessage = (sent) => {
    const [, name] = sent.text.split('\0', 2);
    const noParameters = '\0\0\0\x01\xff\xff\xff\xff\0\0';
    return isStatement('begin')(sent) ? { bytes: message('B', `\0${name}\0${noParameters}`) } : 'pass';
  };
};

t.test(
  'a BEGIN that the server rejects is Unavailable, its connection is destroyed, and nothing is written',
  async (t) => {
    const proxy = await startProxy(t, db.url);
    const connection = await connect(t, proxy.url);
    const once = () => transact(connection, (tx) => tx.query(insert('without begin')));
    await once();
    t.same(await titles('without begin'), ['without begin']);
    const before = proxy.log.length;
    refuseBegin(proxy);
    await t.rejects(once(), { name: 'Unavailable', committed: NOT_COMMITTED, cause: { code: '08P01' } });
    t.notOk(proxy.log.slice(before).some(isStatement('insert')), 'the work does not begin');
    t.ok(connection.isDestroyed);
    t.same(await titles('without begin'), ['without begin']);

    const aborted = await connect(t);
    await aborted.query(sql`begin`);
    await aborted.query(sql`select 1 / 0`).catch(() => {});
    await t.rejects(
      transact(aborted, (tx) => tx.query(insert('aborted'))),
      { name: 'Unavailable', cause: { code: '25P02' } },
    );
    t.ok(aborted.isDestroyed);
  },
);

t.test('the work begins only when the tenant context is verified', async (t) => {
  const refuse = (error: Error) => () => {
    throw error;
  };
  const cases: [name: string, of: Context<unknown>, isDestroyed: boolean][] = [
    ['another context', context({ parse: refuse(new WrongResult()) }), true],
    ['no context', context({ sql: sql`1 as one where false` }), true],
    ['a context that fails', context({ sql: sql`1 / ${0}::int as one` }), false],
    ['a context that is refused', context({ parse: refuse(new Problem(tenantForbidden)) }), false],
  ];
  for (const [name, of, isDestroyed] of cases) {
    const connection = await connect(t);
    const run = transact(connection, (tx) => tx.query(insert('doubted')), of);
    const reason = await run.catch((error) => error);
    t.equal(reason instanceof WrongResult, isDestroyed, name);
    t.equal(connection.isDestroyed, isDestroyed, name);
    await connection.close();
  }
  t.same(await titles('doubted'), []);
});

t.test('the untranslated severity decides whether an error ends one statement or the session', async (t) => {
  const proxy = await startProxy(t, db.url);
  proxy.onMessage = ({ from, type, text }) =>
    from === 'server' && type === 'E' ? { bytes: message('E', text.replace('SERROR', 'SFEHLER')) } : 'pass';
  const connection = await connect(t, proxy.url);
  const error = await connection.query(sql`select 1 / 0`).catch((reason) => reason);
  t.ok(isStatementError(error));
  t.notOk(connection.isDestroyed);
  proxy.onMessage = ({ from, type, text }) =>
    from === 'server' && type === 'E' ? { bytes: message('E', text.replace('VERROR', 'VFATAL')) } : 'pass';
  await t.rejects(connection.query(sql`select 1 / 0`), ConnectionLost);
  t.ok(connection.isDestroyed);
});
