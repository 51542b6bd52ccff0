import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { deploy } from '../../../src/deploy/deploy.js';
import { root } from '../../../tools/root.js';
import { execute } from '../../setup/pages.js';
import { firstProofs, sumUp } from '../chaos/checker/verdict.js';
import { saveHistory } from '../chaos/history.js';
import { openDatabases } from '../chaos/postgres.js';
import { seedOf } from '../random.js';
import { ofPrimary, runFailovers, UNASKED } from './campaign.js';
import { missingPrograms, startCluster } from './cluster.js';
import { FAULTS, type FaultName } from './faults.js';
import { judge, tableOf } from './judge.js';

// `make failover` injects every fault, .ci/run some.
const faults = (process.env.FAULTS ? process.env.FAULTS.split(',') : Object.keys(FAULTS)) as FaultName[];
const unknown = faults.filter((name) => !(name in FAULTS));
if (unknown.length > 0) {
  throw new Error(`FAULTS has ${unknown.join(', ')}; the faults are ${Object.keys(FAULTS).join(', ')}.`);
}
const seed = seedOf(!process.env.FAULTS);
const missing = missingPrograms();
const skip =
  missing.length > 0 &&
  `missing: ${missing.join(', ')}; install patroni, etcd-server, haproxy and postgresql-15`;

t.test('a failover of PostgreSQL', { skip }, async (t) => {
  const cluster = await startCluster(t);
  const databases = await openDatabases(cluster.adminUrl);
  t.comment(`failover seed: ${seed}`);
  const run = await runFailovers(t, cluster, databases, { faults, seed });

  await t.test('loses and duplicates nothing that was acknowledged', async (t) => {
    const judgement = judge(run.history, run.feeds);
    const elections = run.history.faults.filter(({ kind }) => kind === UNASKED).length;
    const lines = [
      ...tableOf(run, judgement),
      `elections that no fault explains: ${elections}`,
      sumUp(run.history, judgement.verdict, 'failover'),
    ];
    for (const line of lines) {
      t.comment(line);
    }
    mkdirSync('.tap', { recursive: true });
    // The last lines of `make failover`.
    writeFileSync('.tap/failover.txt', lines.map((line) => `${line}\n`).join(''));
    const proofs = firstProofs(judgement.verdict);
    t.same(proofs, []);
    if (proofs.length > 0) {
      const path = `.data/failover/history-${seed}.json`;
      await saveHistory(run.history, path);
      t.comment(`the history is in ${path}`);
    }
  });

  const { created, stored, requests } = run.creations;
  t.ok(requests > created.length, `the shipped client retried: ${requests} requests`);
  t.same(stored, created, 'the shipped client creates once what it retries');

  const { migration } = databases.urls(run.database);
  await t.test('a deploy goes to the primary, and a standby refuses it', async (t) => {
    await deploy(ofPrimary(migration), undefined, ['replicator']);
    const leader = await cluster.leader();
    for (const { address } of cluster.nodes.filter((node) => node !== leader)) {
      const url = ofPrimary(migration.replace(cluster.balancer, address));
      await t.rejects(deploy(url), /MIGRATION_DATABASE_URL must lead to the primary/);
    }
  });

  await t.test('leaves the audit without a critical finding, on every node', async (t) => {
    const password = randomUUID();
    await databases.queryAsAdmin('postgres', `alter role club_auditor password '${password}'`);
    for (const { address } of cluster.nodes) {
      const env = { AUDIT_DATABASE_URL: `postgres://club_auditor:${password}@${address}/${run.database}` };
      const { stdout } = await execute(process.execPath, [join(root, 'dist/audit.js')], { env });
      t.match(stdout, 'replicator, beyond row-level security');
      t.equal(stdout.includes('the replication slot of'), !stdout.includes('a standby'), address);
    }
  });

  await t.test('with asynchronous replication loses writes, and the oracle says so', async (t) => {
    await cluster.makeAsynchronous();
    const { history, feeds } = await runFailovers(t, cluster, databases, { faults: ['node lost'], seed });
    const { lost } = judge(history, feeds).verdict;
    t.comment(`with asynchronous replication: ${lost.length} lost`);
    t.ok(lost.length > 0);
  });
});
