import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { deploy } from '../../src/deploy/deploy.js';
import { sha256 } from '../../src/deploy/release.js';
import { makeDatabase, type TestDatabase } from '../setup/database.js';
import { nextRelease } from '../setup/next-release.js';
import { startProxy } from '../setup/proxy.js';
import { until } from '../setup/wait.js';

t.jobs = 2;

/** By default some statements are cut; with DEPLOYS=whole each one. */
const STRIDE = process.env.DEPLOYS === 'whole' ? 1 : 4;
/** The first statement that is cut: in the short form the two tests cut different statements. */
const FIRST = { 'cut before': 1, 'cut after': Math.ceil(STRIDE / 2) };

const facts = async (db: TestDatabase) =>
  (await db.queryAsAdmin<{ line: string }>('select line from audit.snapshot')).map(({ line }) => line);

/** Waits until the sessions of an interrupted deploy have ended. */
async function noDeploy(db: TestDatabase): Promise<void> {
  await until(
    () =>
      db.queryAsAdmin(
        `select from pg_stat_activity where datname = current_database() and application_name ~ 'operator|deploy'`,
      ),
    (sessions) => sessions.length === 0,
  );
}

/** How many migrations are recorded. */
async function countMigrations(db: TestDatabase): Promise<number> {
  const [row] = await db.queryAsAdmin('select count(*)::int as count from deploy.migration_files');
  return row?.count;
}

/** All that a deploy can change and the audit reads. */
const readState = async (db: TestDatabase) =>
  JSON.stringify([
    await facts(db),
    await db.queryAsAdmin('select kind, object, fact, make, unmake from deploy.facts order by kind, object'),
  ]);

const whole = await makeDatabase(t);
const before = await countMigrations(whole);
const added = nextRelease.migrations.length - before;
await deploy(whole.migrationUrl, nextRelease);
const complete = await facts(whole);

for (const verdict of ['cut before', 'cut after'] as const) {
  t.test(
    `a deploy that is ${verdict} any of its statements causes no finding, and the next one is complete`,
    async (t) => {
      const db = await makeDatabase(t);
      const proxy = await startProxy(t, db.migrationUrl);
      /** The numbers of migrations that had run before an interrupted deploy. */
      const interrupted = new Set<number>();
      /**
       * The statements that were cut, each as a hash of all statements up to it. A number is not enough: what was interrupted
       * before decides which statements a deploy runs, such as those of the chapters after a change that is not recorded.
       */
      const cuts = new Set<string>();
      let state = await readState(db);
      for (let done = false; !done; ) {
        const migrations = await countMigrations(db);
        let [count, sequence, isCut] = [0, '', false];
        proxy.onMessage = ({ from, type, text }) => {
          if (!isCut && from === 'client' && (type === 'Q' || type === 'P')) {
            count += 1;
            sequence = sha256(sequence + text);
            isCut = count % STRIDE === FIRST[verdict] % STRIDE && !cuts.has(sequence);
          }
          return isCut ? verdict : 'pass';
        };
        done = await deploy(proxy.url, nextRelease).then(
          () => true,
          (error) => {
            if (!isCut) {
              throw error;
            }
            cuts.add(sequence);
            interrupted.add(migrations);
            return false;
          },
        );
        await noDeploy(db);
        const next = await readState(db);
        if (next !== state) {
          t.same(
            await db.queryAsAdmin(`select code, object from audit.findings where severity = 'critical'`),
            [],
            `statement ${count} after ${migrations} migrations`,
          );
          state = next;
        }
      }
      t.same(
        [...interrupted],
        Array.from({ length: added + 1 }, (_, ran) => before + ran),
        'interrupted before each migration, and after the last',
      );
      t.same(await facts(db), complete);
      t.same(await db.queryAsAdmin('select code, object from audit.findings'), []);
    },
  );
}

t.test('an invalid index of an interrupted build is built again', async (t) => {
  const db = await makeDatabase(t);
  const club = await db.makeClub();
  await withClient(db.migrationUrl, async (client) => {
    await client.query('set role club_owner');
    const { migrations } = nextRelease;
    await deploy(db.migrationUrl, { ...nextRelease, migrations: migrations.slice(0, -1) });
    for (const id of [club, '99999999-9999-4999-8999-999999999999']) {
      await db.queryAsAdmin(
        'insert into app.tasks (tenant_id, id, title, created_by_id) values ($1, $2, $3, null)',
        [club, id, 'Twice'],
      );
    }
    await t.rejects(
      client.query('create unique index concurrently tasks_by_estimate on app.tasks (tenant_id, estimate)'),
      { code: '23505' },
    );
  });
  const valid = `select indisvalid from pg_index where indexrelid = 'app.tasks_by_estimate'::regclass`;
  t.same(await db.queryAsAdmin(valid), [{ indisvalid: false }]);
  await deploy(db.migrationUrl, nextRelease);
  t.same(await db.queryAsAdmin(valid), [{ indisvalid: true }]);
  t.same(await db.queryAsAdmin('select code, object from audit.findings'), []);
});
