import t, { type Test } from 'tap';
import { isStatementError } from '../../src/database/failures.js';
import { Session } from '../../src/database/session.js';
import { type Statement, sql } from '../../src/database/sql.js';
import { type Entry, type Mode, runTransaction } from '../../src/database/transaction.js';
import { Problem } from '../../src/problems/problem.js';
import { message } from '../setup/protocol.js';
import { startProxy } from '../setup/proxy.js';
import { makeWork } from '../setup/work.js';

const { db, club, insert, titles } = await makeWork(t);
const ENTER = sql`select * from app.enter(${club}, 'anna', 'Admin', 'anna', null, null)`;

/** What a session and the server say to each other in a transaction, once its statements are prepared. */
async function talkOf(t: Test, mode: Mode, statement: Statement): Promise<string[]> {
  const proxy = await startProxy(t, db.url);
  const session = new Session({ url: proxy.url, prepare: true });
  const run = () => runTransaction(session, mode, entry(ENTER), (tx) => tx.query(statement));
  await run();
  await run();
  const before = proxy.log.length;
  await run();
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
    t.same(await talkOf(t, 'read write', insert('flush')), [
      ...['begin', 'E', 'select', 'E', 'insert', 'E', 'S'],
      ...['<2', '<C', '<2', '<D', '<C', '<2', '<C', '<Z'],
      ...['commit', 'E', 'S', '<2', '<C', '<Z'],
    ]);
  },
);

t.test('a reader’s COMMIT leaves with the BEGIN of the next one', async (t) => {
  t.same(await talkOf(t, 'read only', sql`select 1`), [
    ...['commit', 'E', 'begin', 'E', 'select', 'E', 'select', 'E', 'S'],
    ...['<2', '<C', '<2', '<C', '<2', '<D', '<C', '<2', '<D', '<C', '<Z'],
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
