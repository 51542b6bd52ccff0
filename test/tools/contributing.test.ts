import { readFile } from 'node:fs/promises';
import t from 'tap';
import { readRelease } from '../../src/deploy/release.js';
import { makeDatabase } from '../setup/database.js';
import { makeExample } from '../setup/example.js';
import { list } from '../setup/source.js';

const { files, run, make, edit, test } = await makeExample(t);

/** What goes through all resources imports the routes, the document or the tables. */
const GENERIC =
  /\b(contract|document|endpoints|endpointsFor|makers)\b[^;]* from '..\/setup\/endpoints\.js'|'..\/setup\/(catalog|fields|testbed)\.js'|readDocument/;

/** The tests of `make test` that go through all resources. */
async function genericTests(): Promise<string[]> {
  const folders = ['api', 'client', 'database', 'sql'].map((name) => list(`test/${name}`));
  const paths = (await Promise.all(folders)).flatMap(({ files }) => files);
  const texts = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
  return paths.filter((path, at) => path.endsWith('.test.ts') && GENERIC.test(texts[at] ?? ''));
}

t.test(
  'the example of a resource passes the checks, its tests and those of all resources, with eleven files written by hand',
  async (t) => {
    t.equal(files.length, 11);
    const sources = files.filter((path) => path.endsWith('.ts'));
    const bin = 'node_modules/.bin';
    t.notMatch(await run(`${bin}/biome`, 'check', '--error-on-warnings', ...sources), /Found \d+ error/);
    t.equal(await run(`${bin}/tsc`, '--noEmit', '--project', 'tsconfig.json'), '', 'the types');
    const generic = (await genericTests()).map((path) => path.slice('test/'.length, -'.test.ts'.length));
    t.ok(generic.length > 20, generic.join(' '));
    const others = ['sql/audit-answers', 'source/structure', 'tools/requests'];
    const output = await test('api/boats', ...generic, ...others);
    t.match(output, /^\d+ passed, 0 failed$/m, output);
  },
);

t.test(
  'its migration has the next free number, and deploys onto a database that has this release',
  async (t) => {
    const last = Number.parseInt(readRelease().migrations.at(-1)?.name ?? '', 10);
    const name = `${String(last + 1).padStart(4, '0')}_boats`;
    const page = files.filter((path) => path.startsWith('sql/migrations/'));
    t.same(page, [`sql/migrations/${name}.sql`], 'CONTRIBUTING.md shows the next free number');
    const db = await makeDatabase(t);
    const url = `MIGRATION_DATABASE_URL=${db.migrationUrl}`;
    const output = await run('env', url, process.execPath, 'dist/development/src/migrate.js');
    t.equal(output, `Deployed: 1 migrations (${name}) and all chapters.\n`);
    t.same(await db.queryAsAdmin('table audit.findings'), []);
  },
);

t.test('make check names stale files, and make verify what the audit and the lint find', async (t) => {
  for (const path of ['src/boats/routes.ts', 'client/src/boats.ts']) {
    await edit(path, (text) => text.replaceAll('removeDamage', 'repairBoat'));
  }
  const stale = 'client/src/generated/operations.ts is stale: run make snapshot.';
  t.match(await make('check'), stale);
  await edit(
    'sql/policies/65_boats.sql',
    (text) => `${text}\ngrant truncate, insert on app.boats to club_api;\n`,
  );
  const output = await make('verify');
  t.match(output, /^The audit of a new database has findings:\n(.*\n)*critical \w+ .* app\.boats/m);
  t.match(
    output,
    /^A new database breaks rules of sql\/lint\.sql:\ngrant_form: .*\n {2}app\.boats: insert to club_api$/m,
  );
});
