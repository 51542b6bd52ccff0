import { setTimeout as sleep } from 'node:timers/promises';
import type { Role } from '../../../src/roles.js';
import { randomOf } from '../random.js';
import { probeRecovery, readFinalState, untilIdle } from './final-state.js';
import { follow } from './follower.js';
import type { History, Kind } from './history.js';
import { join, type Member } from './member.js';
import type { Target, Testbed } from './testbed.js';
import { SECRETARY, type SharedRows, work } from './work.js';

/** The weight of each kind of request. */
export type Workload = Partial<Record<Kind, number>>;

export const EVERYTHING: Workload = {
  'sign up': 22,
  cancel: 12,
  'read signup': 4,
  assign: 14,
  unassign: 8,
  wait: 14,
  'stop waiting': 3,
  'read wait': 4,
  'assign wait': 7,
  'remove wait': 2,
  'read waits': 3,
  'create task': 10,
  'patch task': 22,
  'delete task': 2,
  'read task': 8,
  'list tasks': 4,
  'create shift': 1,
  'put shift': 5,
  'delete shift': 1,
  'read shift': 9,
  'list shifts': 3,
  'list members': 1,
  'end membership': 4,
  'renew membership': 8,
  merge: 8,
  record: 10,
  'remove record': 2,
  'read record': 4,
  'list attendance': 1,
  'list hours': 1,
};

const PEOPLE: [string, Role][] = [
  ['boss', 'Admin'],
  ['chief', 'Manager'],
  ['anna', 'Member'],
  ['ben', 'Member'],
  ['cleo', 'Member'],
  ['dora', 'Member'],
];
const OF_MERGES: [string, Role] = [SECRETARY, 'Admin'];
/** Whose membership ends at times. One is enough: of a member who may have left, less is known. */
const LEAVER = 'dora';
/** Longer than the slowest correct response: the wait in the queue, the deadline, and a freeze. */
const PATIENCE_MS = 18_000;
/** Longer than the service may take to recover. */
const FAULTLESS_MS = 1_500;
const LAST_TRIES_MS = 5_000;

export interface Plan<Ground extends Target = Testbed> {
  seed: number;
  durationMs: number;
  /** The faults and requests that happen at least, even if a slow machine needs longer than the duration. */
  least?: { faults: number; operations: number };
  workload?: Workload;
  patienceMs?: number;
  /** The longest pause of a client between two requests. */
  restMs?: number;
  /** The pause of a client after a request with an unknown outcome. */
  restInDoubtMs?: number;
  /** How long clients continue after the last fault. */
  faultlessMs?: number;
  /** Injects faults until the end, and removes all of them before it returns. */
  nemesis(target: Ground, isOver: () => boolean, random: () => number): Promise<void>;
  /** Prepares the databases to be read, when nothing is requested any more. */
  tidy?(target: Ground): Promise<void>;
}

/** Runs clients, followers and the nemesis together, records the history, and tests whether the service has recovered. */
export async function runCampaign(testbed: Testbed, plan: Plan): Promise<History> {
  const history = await recordWork(testbed, plan);
  const recovery = await probeRecovery(testbed);
  return {
    ...history,
    crashes: [...testbed.service.crashes],
    failedDeploys: testbed.failedDeploys,
    recovery,
  };
}

/** Runs clients, followers and the nemesis together, and records the history. */
export async function recordWork<Ground extends Target>(
  target: Ground,
  plan: Plan<Ground>,
): Promise<Omit<History, 'crashes' | 'failedDeploys'>> {
  const {
    seed,
    durationMs,
    least = { faults: 0, operations: 0 },
    workload = EVERYTHING,
    patienceMs = PATIENCE_MS,
    restMs = 6,
    restInDoubtMs = 20,
    faultlessMs = FAULTLESS_MS,
  } = plan;
  const { operations, faults, entrances } = target;
  const members = await Promise.all(
    target.clubs.flatMap((club, place) =>
      [...PEOPLE, ...(club.hasMerges ? [OF_MERGES] : [])].map(([subject, role], person) =>
        join(target, club, subject, role, {
          entrance: entrances[(place + person) % entrances.length] as string,
          seed: seed + place * 100 + person + 1,
          patienceMs,
          restInDoubtMs,
        }),
      ),
    ),
  );
  // Followers pause while the database becomes idle, and read the rest then.
  let isSettled = Promise.resolve(false);
  const following = target.clubs.map((club) =>
    follow(target, club, { limit: 100, restMs: 200, isOver: () => isSettled }),
  );
  const began = target.now();
  const isOver = () =>
    target.now() - began > durationMs &&
    faults.length >= least.faults &&
    operations.length >= least.operations;
  let end = Number.POSITIVE_INFINITY;
  const sharedRows = new Map(
    target.clubs.map((club): [string, SharedRows] => [
      club.id,
      {
        tasks: [],
        shifts: [],
        started: [],
        leavers: members.filter((member) => member.club === club && member.subject === LEAVER),
        count: 0,
        end: () => target.now() > end + LAST_TRIES_MS,
      },
    ]),
  );
  const live = async (member: Member) => {
    const shared = sharedRows.get(member.club.id) as SharedRows;
    while (target.now() < end) {
      await work(member, shared, choose(workload, member.random()));
      await sleep(member.random() * restMs);
    }
    member.leave();
  };
  const lives = members.map(live);
  await plan.nemesis(target, isOver, randomOf(seed));
  end = target.now() + faultlessMs;
  await Promise.all(lives);
  isSettled = untilIdle(target).then(() => true);
  await isSettled;
  const feeds = await Promise.all(following);
  await plan.tidy?.(target);
  const finalState = await readFinalState(target);
  return {
    seed,
    clubs: target.clubs.map(({ canary }) => canary),
    operations,
    faults,
    finalState,
    feeds,
  };
}

function choose(workload: Workload, random: number): Kind {
  const all = Object.entries(workload) as [Kind, number][];
  let rest = random * all.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [kind, weight] of all) {
    rest -= weight;
    if (rest < 0) {
      return kind;
    }
  }
  return all[0]?.[0] ?? 'list tasks';
}
