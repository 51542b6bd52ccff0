import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { relationsOf } from '../setup/catalog.js';
import { furnish } from '../setup/catalog-rows.js';
import { hasPsql, makeDatabase, type TestDatabase } from '../setup/database.js';
import { root } from '../setup/source.js';

const page = await readFile(join(root, 'docs/operate.md'), 'utf8');
const [, lines = ''] = /^One club, out of.*?^```sh\n(.*?)^```$/ms.exec(page) ?? [];

t.test('the lines for one club', { skip: !hasPsql() && 'psql is not installed' }, async (t) => {
  const [copy, live] = [await makeDatabase(t), await makeDatabase(t)];
  // A table of which no page knows.
  for (const db of [copy, live]) {
    await db.look(
      'create table app.boats (tenant_id uuid not null references app.clubs, name text not null)',
    );
  }
  const relations = (await relationsOf(copy)).filter(
    ({ kind, belongsToClubs }) => kind === 'table' && belongsToClubs,
  );
  const [lost, other] = [await furnish(copy, relations, {}), await furnish(copy, relations, {})];
  const kept = await furnish(live, relations, {});

  /** How many rows of a club each table has, and what is in them. */
  const rowsOf = async (db: TestDatabase, club: string) => {
    const found: Record<string, unknown[]> = {};
    for (const { name, clubColumn } of relations) {
      const rows = await db.look(
        `select to_jsonb(t) as row from ${name} as t where ${clubColumn} = $1 order by to_jsonb(t)::text`,
        [club],
      );
      found[name] = rows.map(({ row }) => row);
    }
    return found;
  };
  const run = () => {
    const [from, to] = [copy, live].map(({ adminUrl }) => new URL(adminUrl).pathname);
    const script = lines
      .replace('CLUB_ID', lost.clubId)
      .replace('/clubs_restored', String(from))
      .replace('/clubs"', `${to}"`);
    const { port, username, password, hostname } = new URL(live.adminUrl);
    const env = { ...process.env, SUPERUSER_URL: `postgres://${username}:${password}@${hostname}:${port}` };
    return spawnSync('sh', ['-c', script], { env, encoding: 'utf8' });
  };

  await t.test('bring back every row of it, of every table, and none of another', async (t) => {
    const { status, stderr } = run();
    t.same([status, stderr], [0, '']);
    const wanted = await rowsOf(copy, lost.clubId);
    t.same(await rowsOf(live, lost.clubId), wanted);
    t.same(
      Object.keys(wanted).filter((name) => wanted[name]?.length === 0),
      [],
      'each table has rows of it',
    );
    t.ok(Object.hasOwn(wanted, 'app.boats'));
    t.same(Object.values(await rowsOf(live, other.clubId)).flat(), []);
  });

  await t.test('change nothing where the club is', async (t) => {
    await live.look('update app.clubs set name = $1 where id = $2', ['Changed since', lost.clubId]);
    const before = [await rowsOf(live, lost.clubId), await rowsOf(live, kept.clubId)];
    const { status, stderr } = run();
    t.not(status, 0);
    t.match(stderr, /duplicate key value/);
    t.same([await rowsOf(live, lost.clubId), await rowsOf(live, kept.clubId)], before);
  });
});
