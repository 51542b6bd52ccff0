import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Database } from '../../src/database/database.js';
import { reasonOf } from '../../src/database/errors.js';
import { withClient } from '../../src/deploy/client.js';
import { deploy } from '../../src/deploy/deploy.js';
import { type Release, readRelease } from '../../src/deploy/release.js';
import { isDeployed } from '../../src/ops/schema-version.js';
import { makeDatabase } from '../setup/database.js';
import { sendUnderLoad } from '../setup/send.js';
import { runAudit, startService } from '../setup/service.js';
import { until } from '../setup/wait.js';

t.jobs = 2;

const release = readRelease();

const nextWeek = {
  startsAt: new Date(Date.now() + 7 * 86_400_000).toISOString(),
  endsAt: new Date(Date.now() + 7 * 86_400_000 + 3_600_000).toISOString(),
};

/** The deploy's waiting lock requests, by their transactions. */
const queued = `
  select virtualtransaction as attempt from pg_locks
  where relation = 'app.tasks'::regclass and mode = 'AccessExclusiveLock' and not granted`;

/** This release with one more chapter. */
const withChapter = (text: string): Release => ({
  ...release,
  chapters: [...release.chapters, { name: '90_more', text, sha256: '' }],
  fingerprint: text,
});

/** A possible next release: a migration, a column that this code does not know, and a changed type. */
const newer: Release = {
  ...release,
  migrations: [...release.migrations, { name: '9999_estimates', text: '', sha256: 'of the newer release' }],
  chapters: [
    ...release.chapters,
    {
      name: '90_newer',
      text: `
        alter table app.tasks add column estimate integer;
        alter table app.shifts alter column location type varchar(200)`,
      sha256: '',
    },
  ],
  fingerprint: 'newer',
};

t.test(
  'a database is deployed for this code once its release was applied, even after newer ones',
  async (t) => {
    const db = await makeDatabase(t, { empty: true });
    const database = new Database({ url: db.url, size: 1, prepare: true, readsPerConnection: 1 });
    t.teardown(() => database.close());
    // A slow machine may not connect in time; then it is asked again.
    const isKnown = () =>
      until(
        () => isDeployed(database).catch(reasonOf),
        (response) => typeof response === 'boolean' || !response.includes('not ready in time'),
      );

    t.equal(await isKnown(), false, 'an empty database');
    await deploy(db.migrationUrl, { ...release, fingerprint: 'older' });
    t.equal(await isKnown(), false, 'an older release');
    await deploy(db.migrationUrl);
    t.equal(await isKnown(), true, 'this release');
    await deploy(db.migrationUrl, newer);
    t.equal(await isKnown(), true, 'a newer release after this one');
    await t.rejects(deploy(db.migrationUrl), { name: 'DeployError' }, 'which this release does not undo');
    t.equal(await isKnown(), true);

    await db.queryAsAdmin('delete from deploy.releases where fingerprint = $1', [release.fingerprint]);
    t.equal(await isKnown(), false, 'a newer release alone');
  },
);

/**
 * A service with two clubs, and a reader for each that throws on any wrong row. On a slow machine a deploy can hold its
 * locks for longer than a read may wait.
 */
async function startReaders(t: Test, send: typeof sendUnderLoad = sendUnderLoad) {
  const service = await startService(t);
  const readers: (() => Promise<void>)[] = [];
  for (const slug of ['north', 'south']) {
    const club = await service.db.makeClub(slug);
    const anna = service.as('anna', 'Manager', club);
    const titles = [`First of ${slug}`, `Second of ${slug}`];
    for (const title of titles) {
      await sendUnderLoad(() => anna.post('/api/tasks', { title }));
      await sendUnderLoad(() => anna.post('/api/shifts', { title, ...nextWeek, capacity: 3 }));
    }
    for (const path of ['/api/tasks', '/api/shifts']) {
      readers.push(async () => {
        const { status, body, text } = await send(() => anna.get(path));
        const seen = status === 200 && body.map(({ title }: { title: string }) => title).sort();
        assert.deepEqual(seen, titles, `${path} of ${slug}: ${status} ${text}`);
      });
    }
    readers.push(async () => {
      const { status, body } = await send(() => anna.get('/api/clubs/me'));
      assert.deepEqual([status, body.length, body[0]?.slug], [200, 1, slug]);
    });
  }
  let reads = 0;
  /** Reads with all readers again and again until the work is done. */
  const readDuring = async (work: Promise<unknown>) => {
    let done = false;
    const readOn = async (read: () => Promise<void>) => {
      for (; !done; reads += 1) {
        await read();
        // Other clients leave the processors to the deploy as well.
        await sleep(5);
      }
    };
    const end = () => {
      done = true;
    };
    await Promise.all([work.finally(end), ...readers.map((read) => readOn(read).finally(end))]);
  };
  /** Waits until the readers have read a few times more. */
  const untilRead = () => {
    const enough = reads + 3 * readers.length;
    return until(
      () => reads,
      (count) => count >= enough,
    );
  };
  return { service, readDuring, untilRead };
}

t.test('readers during five deploys see exactly their rows, and no error', async (t) => {
  const { service, readDuring, untilRead } = await startReaders(t);
  const deploys = async () => {
    for (let count = 1; count <= 5; count += 1) {
      const changed = withChapter(`-- ${count}`);
      t.equal((await deploy(service.db.migrationUrl, changed)).applied, true);
      await untilRead();
    }
  };
  await readDuring(deploys());
});

t.test('this code serves while a newer release is deployed, and afterwards', async (t) => {
  const { service, readDuring, untilRead } = await startReaders(t);
  await readDuring(deploy(service.db.migrationUrl, newer));
  await readDuring(untilRead());
  await runAudit(service);
  t.match(await service.send('GET', '/readyz'), { status: 200, body: { audit: { critical: 0 } } });
});

t.test('a long transaction delays the deploy, and the deploy delays no request', async (t) => {
  const { service, readDuring } = await startReaders(t, (read) => read());
  const { db } = service;
  let deployed = false;
  // Not the service's login, which may be idle in a transaction for ten seconds only.
  await withClient(db.adminUrl, async (reporter) => {
    await reporter.query('begin; lock table app.tasks in access share mode');
    const changed = withChapter('-- changed');
    const deploying = deploy(db.migrationUrl, changed).then(() => (deployed = true));
    deploying.catch(() => {});
    const attempts = new Set<string>();
    const countAttempts = async () => {
      for (const { attempt } of await db.queryAsAdmin(queued)) {
        attempts.add(attempt);
      }
      return attempts.size;
    };
    await readDuring(until(countAttempts, (count) => count >= 2));
    t.equal(deployed, false);
    await reporter.query('commit');
    await deploying;
  });
  t.equal(deployed, true);
});
