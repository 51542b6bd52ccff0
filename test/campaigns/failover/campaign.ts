import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { createClient } from '../../../client/src/index.js';
import { provisionClub } from '../../../src/deploy/provision-club.js';
import { until } from '../../setup/wait.js';
import { recordWork } from '../chaos/campaign.js';
import { isAcknowledgedWrite } from '../chaos/checker/verdict.js';
import { follow } from '../chaos/follower.js';
import { type Fault, type Feed, type History, isUnknown } from '../chaos/history.js';
import type { Databases } from '../chaos/postgres.js';
import { makeTarget, startProcess, type Target } from '../chaos/testbed.js';
import type { Cluster, Node } from './cluster.js';
import { FAULTS, type FaultName } from './faults.js';
import { isDuring } from './judge.js';

/** The kind of a fault that was not injected: Patroni changed the primary on a busy machine, or lost it for a while. */
export const UNASKED = 'not asked for';
/** The acknowledged writes before and after each fault. */
const LEAST_WRITES = 200;
/** Against hangs. */
const SERVED_WITHIN_MS = 30_000;
/** How often the cluster is asked for its primary. */
const WATCH_MS = 500;
/** How long a client waits after a failure, as Retry-After says. */
const RETRY_AFTER_MS = 1_000;
/** The pause of the shipped client between two creations. */
const CREATION_MS = 100;

/** The URL of a login through HAProxy, as docs/operate.md has it. */
export const ofPrimary = (url: string) => `${url}?target_session_attrs=primary`;
/** Both lead to the primary through HAProxy. */
const PROCESSES = 2;

export interface Run {
  history: History;
  /** The events of each club after the faults. */
  feeds: Feed[];
  database: string;
  /** The titles of tasks that the shipped client created, of those that are stored, and how many requests it sent. */
  creations: { created: string[]; stored: string[]; requests: number };
}

/** Injects faults under the load of two processes. */
export async function runFailovers(
  t: Test,
  cluster: Cluster,
  databases: Databases,
  { faults, seed }: { faults: FaultName[]; seed: number },
): Promise<Run> {
  const target = await makeTarget(t, databases);
  const { api, migration } = databases.urls(target.database);
  const processes = await Promise.all(
    Array.from({ length: PROCESSES }, () => startProcess(t, target, 'dist/server.js', ofPrimary(api))),
  );
  target.entrances.push(...processes.map(({ url }) => url));
  const clients = await prepareClients(target, migration);
  const nemesis = async () => {
    let isOver = false;
    const watching = watch(cluster, target, () => isOver);
    for (const name of faults) {
      await untilWritten(t, target, `before: ${name}`);
      const fault = await inject(cluster, target, name, clients.create);
      const served = target.entrances.map((entrance) => isServed(target, entrance, fault));
      t.same(await Promise.all(served), [true, true], `both processes serve again after: ${name}`);
      await untilWritten(t, target, `after: ${name}`);
      t.ok(
        target.operations.some((operation) => isUnknown(operation) && isDuring(fault, operation)),
        `some requests fail during: ${name}`,
      );
    }
    isOver = true;
    await watching;
  };
  const recorded = await recordWork(target, {
    seed,
    durationMs: 0,
    restMs: 40,
    restInDoubtMs: RETRY_AFTER_MS,
    nemesis,
  });
  const history = { ...recorded, crashes: processes.flatMap(({ crashes }) => crashes), failedDeploys: [] };
  t.same(
    processes.flatMap(({ bugs }) => bugs),
    [],
  );
  const feeds = await Promise.all(
    target.clubs.map((club) => follow(target, club, { limit: 100, restMs: 0, isOver: async () => true })),
  );
  return {
    history,
    feeds,
    database: target.database,
    creations: {
      created: clients.created.sort(),
      stored: (await clients.stored()).sort(),
      requests: clients.requests(),
    },
  };
}

/** Injects one fault, and waits until all three nodes are back. Meanwhile the typed client creates tasks. */
async function inject(
  cluster: Cluster,
  target: Target,
  name: FaultName,
  createTasks: (isOver: () => boolean) => Promise<void>,
): Promise<Fault> {
  await until(() => target.faults.every(({ to }) => to !== Number.POSITIVE_INFINITY), Boolean);
  const primary = (await until(cluster.leader, Boolean)) as Node;
  const fault = { kind: name, from: target.now(), to: Number.POSITIVE_INFINITY };
  target.faults.push(fault);
  const creating = createTasks(() => fault.to !== Number.POSITIVE_INFINITY);
  try {
    await FAULTS[name](cluster, primary);
    await cluster.untilHealed();
  } finally {
    fault.to = target.now();
  }
  await creating;
  return fault;
}

/** Records each change of the primary that no fault explains, until the end of the campaign. */
async function watch(cluster: Cluster, { faults, now }: Target, isOver: () => boolean): Promise<void> {
  let last = await cluster.leader();
  let seen = now();
  while (!isOver()) {
    const isAsked = faults.some(({ to }) => to === Number.POSITIVE_INFINITY);
    const leader = await cluster.leader();
    if (isAsked || leader === last) {
      last = leader ?? last;
      seen = now();
    } else {
      const fault = { kind: UNASKED, from: seen, to: Number.POSITIVE_INFINITY };
      faults.push(fault);
      await cluster.untilHealed();
      fault.to = now();
      last = await cluster.leader();
    }
    await sleep(WATCH_MS);
  }
}

async function untilWritten(t: Test, { operations }: Target, when: string): Promise<void> {
  const count = () => operations.filter(isAcknowledgedWrite).length;
  const before = count();
  const written = await until(count, (writes) => writes - before >= LEAST_WRITES, { everyMs: 250 });
  t.ok(written - before >= LEAST_WRITES, `${LEAST_WRITES} writes ${when}`);
}

/** Whether a process acknowledges a write after the fault, in time. */
function isServed({ operations }: Target, entrance: string, { to }: Fault): Promise<boolean> {
  const isThere = () =>
    operations.some(
      (operation) =>
        operation.entrance === entrance && operation.called > to && isAcknowledgedWrite(operation),
    );
  return until(isThere, Boolean, { everyMs: 100, forMs: SERVED_WITHIN_MS });
}

/** A club whose tasks the shipped client creates, through each process. */
async function prepareClients({ entrances, issuer, queryAsAdmin }: Target, migrationUrl: string) {
  const clubId = await provisionClub(migrationUrl, { name: 'Retry', slug: 'retry', timeZone: 'UTC' });
  const token = issuer.sign({ sub: 'anna', name: 'anna', clubs: { [clubId]: 'Manager' } });
  const retry = { attempts: Number.POSITIVE_INFINITY, withinMs: 300_000 };
  const created: string[] = [];
  let requests = 0;
  const countingFetch: typeof fetch = (input, init) => {
    requests += 1;
    return fetch(input, init);
  };
  const create = async (baseUrl: string, isOver: () => boolean) => {
    const client = createClient({ baseUrl, clubId, token, retry, fetch: countingFetch });
    while (!isOver()) {
      created.push((await client.tasks.create({ title: randomUUID() })).title);
      await sleep(CREATION_MS);
    }
  };
  return {
    /** Creates tasks one after another. The client retries each with one key. */
    create: async (isOver: () => boolean) => {
      await Promise.all(entrances.map((entrance) => create(entrance, isOver)));
    },
    created,
    requests: () => requests,
    stored: async (): Promise<string[]> => {
      const rows = await queryAsAdmin('select title from app.tasks where tenant_id = $1', [clubId]);
      return rows.map(({ title }) => title);
    },
  };
}
