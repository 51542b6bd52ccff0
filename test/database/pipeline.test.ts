import t from 'tap';
import { isStatementError } from '../../src/database/failures.js';
import { Session } from '../../src/database/session.js';
import { type Statement, sql } from '../../src/database/sql.js';
import { type Entry, runTransaction } from '../../src/database/transaction.js';
import { Problem } from '../../src/problems/problem.js';
import { startProxy } from '../setup/proxy.js';
import { makeWork } from '../setup/work.js';

const { db, club, insert, titles } = await makeWork(t);

t.test(
  'BEGIN, the entry and the first statement leave in one flush, COMMIT after their answers',
  async (t) => {
    const proxy = await startProxy(t, db.url);
    const session = new Session({ url: proxy.url, prepare: true });
    const enter = entry(sql`select * from app.enter(${club}, 'anna', 'Admin', 'anna', null, null)`);
    const run = () => runTransaction(session, 'read write', enter, (tx) => tx.query(insert('flush')));
    await run();
    const before = proxy.log.length;
    await run();
    const talk = proxy.log
      .slice(before)
      .map(
        ({ from, type, text }) =>
          (from === 'client' ? type : `<${type}`) + (type === 'Q' ? ` ${text.slice(0, -1)}` : ''),
      );
    t.match(talk.shift(), /^Q begin .*read write$/);
    t.same(talk, [
      ...['B', 'E', 'S', 'B', 'E', 'S'],
      ...['<C', '<Z', '<2', '<D', '<C', '<Z', '<2', '<C', '<Z'],
      ...['Q commit', '<C', '<Z'],
    ]);
    await session.close();
  },
);

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
    for (const statement of [sql`select 1 as one`, insert('doubted')]) {
      const session = new Session({ url: db.url, prepare: true });
      let seen: unknown;
      const run = runTransaction(session, 'read write', enter, async (tx) => {
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
  await session.command('begin');
  await session.send(sql`select 1 / 0`).catch(() => {});
  const run = runTransaction(session, 'read write', entry(sql`select 1`), (tx) =>
    tx.query(insert('refused')),
  );
  await t.rejects(run, { name: 'Unavailable' });
  t.ok(session.lost);
});

t.test('a BEGIN inside of a transaction is doubt: nothing of it is believed', async (t) => {
  const session = new Session({ url: db.url, prepare: true });
  await session.command('begin');
  const run = runTransaction(session, 'read write', entry(sql`select 1`), (tx) => tx.query(sql`select 1`));
  await t.rejects(run, { name: 'Unavailable' });
  t.ok(session.lost);
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

function entry(statement: Statement): Entry<unknown> {
  return { statement, isEcho: () => true, accept: () => {} };
}
