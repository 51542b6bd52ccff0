import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import t from 'tap';
import { Session } from '../../src/database/session.js';
import { type Statement, sql } from '../../src/database/sql.js';
import { makeDatabase } from '../setup/database.js';
import { startProxy } from '../setup/proxy.js';

const db = await makeDatabase(t);
const session = new Session({ url: db.url, prepare: true });
t.teardown(() => session.close());

/** What the driver makes of the same statement by itself. */
async function byTheDriver({ strings }: Statement): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(db.url);
  await client.connect();
  try {
    return (await client.query(strings.join(''))).rows;
  } finally {
    await client.end();
  }
}

t.test('rows are read as the driver reads them: any text, nothing, null, numbers, truth', async (t) => {
  for (const statement of [
    sql`select 'plain' as text, '' as nothing, null::text as none, 42 as number, -7::smallint as small, true as yes, false as no`,
    sql`select 'Grüße, 北, 🚣‍♀️, \u00a0\u0080é' as text, '"\\/' as marks, repeat('ü', 100000) as long`,
    sql`select chr(127) as last_of_ascii, chr(128) as first_beyond, chr(255) as byte, chr(1114111) as last`,
    sql`select where false`,
    sql`select from generate_series(1, 3)`,
  ]) {
    const read = (await session.send(statement)).rows;
    const camelCased = (row: Record<string, unknown>) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name.replace(/_(.)/g, (_, c) => c.toUpperCase()), value]),
      );
    t.same(read, (await byTheDriver(statement)).map(camelCased));
    t.same((await session.send(statement)).rows, read, 'prepared, and not described again');
  }
});

t.test('rows are whole wherever the pieces of an answer are cut', async (t) => {
  // Some megabytes of short rows: a piece ends in the middle of types, lengths, numbers and characters.
  const statement = sql`
    select i as number, nullif(repeat('é', i % 4), '') as text from generate_series(1, 200000) as i`;
  const { rows, tag } = await session.send(statement);
  t.equal(tag, 'SELECT 200000');
  t.equal(rows.length, 200_000);
  const wrong = rows.filter(
    ({ number, text }, index) => number !== index + 1 || text !== ('é'.repeat((index + 1) % 4) || null),
  );
  t.same(wrong, []);
});

t.test('a row that cannot be read loses the session, and nobody sees a row of it', async (t) => {
  const doubtful = new Session({ url: db.url, prepare: true });
  await doubtful.send(sql`set timezone to 'Europe/Berlin'`);
  await t.rejects(doubtful.send(sql`select now()`), {
    name: 'Unavailable',
    cause: { message: /not in UTC/ },
  });
  t.ok(doubtful.lost);
});

t.test('a row behind the end of what was asked for loses the session, and nothing else', async (t) => {
  const proxy = await startProxy(t, db.url);
  const doubtful = new Session({ url: proxy.url, prepare: true });
  await doubtful.send(sql`select 1 as one`);
  const end = Buffer.from('Z\0\0\0\x05I', 'latin1');
  const row = Buffer.from('D\0\0\0\x0b\0\x01\0\0\0\x012', 'latin1');
  proxy.judge = ({ from, type }) =>
    from === 'server' && type === 'Z' ? { bytes: Buffer.concat([end, row]) } : 'pass';
  t.same((await doubtful.send(sql`select 1 as one`)).rows, [{ one: 1 }]);
  while (!doubtful.lost) {
    await setImmediate();
  }
});
