import t, { type Test } from 'tap';
import type { Entry } from '../../src/database/entry.js';
import { isStatementError } from '../../src/database/failures.js';
import { admit } from '../../src/database/login.js';
import { look } from '../../src/database/look.js';
import { Session } from '../../src/database/session.js';
import { type Statement, sql } from '../../src/database/sql.js';
import { runTransaction, type Transaction } from '../../src/database/transaction.js';
import { Problem } from '../../src/problems/problem.js';
import { message } from '../setup/protocol.js';
import { startProxy } from '../setup/proxy.js';
import { makeWork } from '../setup/work.js';

const { db, club, insert, titles } = await makeWork(t);
const ENTER = sql`select * from app.enter(${club}, 'anna', 'Admin', 'anna', null, null)`;

/** What a session and the server say to each other in a transaction, once its statements are prepared. */
async function talkOf(t: Test, run: (session: Session) => Promise<unknown>): Promise<string[]> {
  const proxy = await startProxy(t, db.url);
  const session = new Session({ url: proxy.url, prepare: true });
  await admit(session);
  await run(session);
  await run(session);
  const before = proxy.log.length;
  await run(session);
  const talk = proxy.log.slice(before).map(({ from, type, text }) => {
    const [word] = /(?<=^\0)[a-z]+/.exec(text) ?? [];
    return from === 'client' ? (word ?? type) : `<${type}`;
  });
  await session.close();
  return talk;
}

t.test(
  'BEGIN, the entry and the first statement leave behind one Sync, COMMIT after their answers',
  async (t) => {
    const write = (session: Session) =>
      runTransaction(session, 'read write', entry(ENTER), (tx) => tx.query(insert('flush')));
    t.same(await talkOf(t, write), [
      ...['begin', 'E', 'select', 'E', 'insert', 'E', 'S'],
      ...['<2', '<C', '<2', '<D', '<C', '<2', '<C', '<Z'],
      ...['commit', 'E', 'S', '<2', '<C', '<Z'],
    ]);
  },
);

t.test('who reads once says all of it behind one Sync, without BEGIN and COMMIT', async (t) => {
  const read = (session: Session) =>
    look(session, entry(ENTER), (tx) => tx.queryAll(sql`select 1`, sql`select 2`));
  t.same(await talkOf(t, read), [
    ...['select', 'E', 'select', 'E', 'select', 'E', 'S'],
    ...['<2', '<D', '<C', '<2', '<D', '<C', '<2', '<D', '<C', '<Z'],
  ]);
});

t.test('rows of the first statement are believed only after the echo of the entry', async (t) => {
  for (const doubtful of [
    { isEcho: () => false },
    { statement: sql`select where false` },
    { statement: sql`select 1 / ${0}::int` },
    {
      accept: () => {
        throw new Problem('tenant_forbidden');
      },
    },
  ]) {
    const enter = {
      ...entry(sql`select * from app.enter(${club}, 'anna', 'Admin', null, null, null)`),
      ...doubtful,
    };
    for (const [statement, start] of [
      [sql`select 1 as one`, write],
      [insert('doubted'), write],
      [sql`select 1 as one`, look],
    ] as [Statement, typeof write][]) {
      const session = new Session({ url: db.url, prepare: true });
      let seen: unknown;
      const run = start(session, enter, async (tx) => {
        seen = await tx.query(statement);
      });
      await t.rejects(run);
      t.equal(seen, undefined);
      const isCertain = doubtful.accept !== undefined || isStatementError(await run.catch((error) => error));
      t.equal(session.lost, !isCertain);
      await session.close();
    }
  }
  t.same(await titles('doubted'), []);
});

t.test('a BEGIN that the server refuses is Unavailable, and its session is not used again', async (t) => {
  const session = new Session({ url: db.url, prepare: true });
  await session.send(sql`begin`);
  await session.send(sql`select 1 / 0`).catch(() => {});
  const run = runTransaction(session, 'read write', entry(sql`select 1`), (tx) =>
    tx.query(insert('refused')),
  );
  await t.rejects(run, { name: 'Unavailable' });
  t.ok(session.lost);
});

t.test('a BEGIN inside of a transaction is doubt: nothing of it is believed', async (t) => {
  const session = new Session({ url: db.url, prepare: true });
  await session.send(sql`begin`);
  const run = runTransaction(session, 'read write', entry(sql`select 1`), (tx) => tx.query(sql`select 1`));
  await t.rejects(run, { name: 'Unavailable' });
  t.ok(session.lost);
});

t.test('who reads once in a transaction that somebody left open is doubt', async (t) => {
  const session = new Session({ url: db.url, prepare: true });
  await session.send(sql`begin`);
  let seen: unknown;
  const run = look(session, entry(ENTER), async (tx) => {
    seen = await tx.query(sql`select 1`);
  });
  await t.rejects(run, { name: 'Unavailable', cause: { message: /did not end/ } });
  t.equal(seen, undefined);
  t.ok(session.lost);
});

t.test('who reads once leaves no context behind, and writes nothing', async (t) => {
  const session = new Session({ url: db.url, prepare: true });
  await admit(session);
  t.same(await look(session, entry(ENTER), (tx) => tx.query(sql`select app.tenant_id()`)), [
    { tenantId: club },
  ]);
  await t.rejects(session.send(sql`select app.tenant_id()`), { code: 'TN001' });
  await t.rejects(
    look(session, entry(ENTER), (tx) => tx.query(insert('read'))),
    { code: '25006' },
  );
  t.same(await titles('read'), []);
  t.notOk(session.lost);
  await session.close();
});

t.test('a failure that only the server knows of makes COMMIT fail', async (t) => {
  const session = new Session({ url: db.url, prepare: true });
  const enter = entry(sql`select * from app.enter(${club}, 'anna', 'Admin', null, null, null)`);
  const run = runTransaction(session, 'read write', enter, async (tx) => {
    await tx.query(insert('unknown failure'));
    await session.send(sql`select 1 / 0`).catch(() => {});
  });
  await t.rejects(run, { name: 'Unavailable', kept: 'nothing' });
  t.same(await titles('unknown failure'), []);
  await session.close();
});

t.test(
  'a refusal of one statement is known by what follows it, in whatever language it is said',
  async (t) => {
    const proxy = await startProxy(t, db.url);
    proxy.judge = ({ from, type, text }) => {
      const other = text.replace('SERROR', 'SFEHLER').replace('SFATAL', 'SERROR');
      return from === 'server' && type === 'E' ? { bytes: message('E', other) } : 'pass';
    };
    const session = new Session({ url: proxy.url, prepare: true });
    await t.rejects(session.send(sql`select 1 / 0`), { code: '22012', severity: 'FEHLER' });
    t.match(await session.send(sql`select 1 as one`), { rows: [{ one: 1 }] });

    // It hangs up, although it calls that an error.
    const end = session.send(sql`select pg_terminate_backend(pg_backend_pid())`);
    await t.rejects(end, { name: 'Unavailable', cause: { code: '57P01', severity: 'ERROR' } });
    t.ok(session.lost);
  },
);

function entry(statement: Statement): Entry<unknown> {
  return { statement, isEcho: () => true, accept: () => {} };
}

function write<Result>(
  session: Session,
  enter: Entry<unknown>,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return runTransaction(session, 'read write', enter, work);
}
