import { setTimeout as sleep } from 'node:timers/promises';
import { type Action, isStatement, type Message, type TestProxy } from '../../setup/proxy.js';
import { OPERATORS } from './operators.js';
import { BACKENDS, type Testbed } from './testbed.js';

/** One kind of fault, repaired when it returns. */
export type Injection = (testbed: Testbed, random: () => number) => Promise<void>;

async function someBackends({ queryAsAdmin }: Testbed, random: () => number): Promise<number[]> {
  const pids = (await queryAsAdmin(`select pid ${BACKENDS}`)).map(({ pid }) => pid as number);
  return random() < 0.3 ? pids : pids.slice(0, 1 + Math.floor(random() * 2));
}

/** Cuts or changes matching messages of a connection, with some probability. */
export function cutAt(
  testbed: Testbed,
  proxy: TestProxy,
  fits: (message: Message) => boolean,
  action: Action,
  chance: number,
  random: () => number,
): void {
  proxy.onMessage = (message) => {
    proxy.log.length = 0;
    if (!fits(message) || random() >= chance) {
      return 'pass';
    }
    testbed.faults.push({
      kind: `${action} ${message.from} ${message.type}`,
      from: testbed.now(),
      to: testbed.now(),
    });
    return action;
  };
}

/** Removes all faults of the proxies. */
export function heal({ front, back }: Testbed): void {
  for (const proxy of [front, back]) {
    proxy.onMessage = () => {
      proxy.log.length = 0;
      return 'pass';
    };
    proxy.greeting = 'connect';
  }
}

export const isCommit = isStatement('commit');
export const isCommitted = ({ from, type, text }: Message) =>
  from === 'server' && type === 'C' && text.startsWith('COMMIT');

const messageFaults =
  (side: 'front' | 'back', fits: (message: Message) => boolean, action: Action, chance: number): Injection =>
  async (testbed, random) => {
    cutAt(testbed, testbed[side], fits, action, chance, random);
    await sleep(300 + random() * 900);
    heal(testbed);
  };

const restartPostgres =
  (signal: 'SIGKILL' | 'SIGQUIT' | 'SIGINT'): Injection =>
  async ({ victim, back, database }) => {
    await victim.restart(signal);
    back.setUpstream(victim.urls(database).api);
  };

const everything = () => true;

/** Every kind of fault, by name. */
export const INJECTIONS: Record<string, Injection> = {
  'backends terminated': async (testbed, random) => {
    for (let kills = 0; kills < 5; kills += 1) {
      const pids = await someBackends(testbed, random);
      await testbed.queryAsAdmin('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [pids]);
      await sleep(random() * 80);
    }
  },
  'a backend killed, so PostgreSQL recovers': async (testbed, random) => {
    for (const pid of (await someBackends(testbed, random)).slice(0, 1)) {
      process.kill(pid, 'SIGKILL');
    }
    await sleep(50);
    await testbed.victim.untilAccepting();
  },
  'PostgreSQL killed': restartPostgres('SIGKILL'),
  'PostgreSQL stopped immediately': restartPostgres('SIGQUIT'),
  'PostgreSQL restarted': restartPostgres('SIGINT'),
  'the service killed': async ({ service }, random) => {
    await service.kill();
    await sleep(random() * 300);
    await service.start();
    await service.untilReady();
  },
  'the service frozen': async ({ service }, random) => {
    service.freeze();
    await sleep(100 + random() * 1_500);
    service.resume();
  },
  'backends frozen': async (testbed, random) => {
    const pids = await someBackends(testbed, random);
    for (const pid of pids) {
      process.kill(pid, 'SIGSTOP');
    }
    await sleep(100 + random() * 2_000);
    for (const pid of pids) {
      process.kill(pid, 'SIGCONT');
    }
  },
  'connections to PostgreSQL frozen': async (testbed, random) => {
    let left = 1 + Math.floor(random() * 3);
    testbed.back.onMessage = () => {
      testbed.back.log.length = 0;
      left -= 1;
      return left >= 0 ? 'freeze' : 'pass';
    };
    await sleep(200 + random() * 1_500);
    heal(testbed);
    testbed.back.cut();
  },
  'PostgreSQL refuses': async ({ back }, random) => {
    await back.stop();
    await sleep(random() * 800);
    await back.start();
  },
  'PostgreSQL hangs up': async (testbed, random) => {
    testbed.back.greeting = 'hang up';
    testbed.back.cut();
    await sleep(random() * 800);
    heal(testbed);
  },
  'PostgreSQL says nothing': async (testbed, random) => {
    testbed.back.greeting = 'say nothing';
    testbed.back.cut();
    await sleep(random() * 800);
    heal(testbed);
    testbed.back.cut();
  },
  'cuts before any message to and from PostgreSQL': messageFaults('back', everything, 'cut before', 0.01),
  'cuts after any message to and from PostgreSQL': messageFaults('back', everything, 'cut after', 0.01),
  'cuts before COMMIT': messageFaults('back', isCommit, 'cut before', 0.2),
  'cuts after COMMIT': messageFaults('back', isCommit, 'cut after', 0.2),
  'cuts before the answer to COMMIT': messageFaults('back', isCommitted, 'cut before', 0.2),
  'cuts after the answer to COMMIT': messageFaults('back', isCommitted, 'cut after', 0.2),
  'cuts before a part of a request or an answer': messageFaults('front', everything, 'cut before', 0.05),
  'cuts after a part of a request or an answer': messageFaults('front', everything, 'cut after', 0.05),
  'slow messages': messageFaults('back', everything, { delayMs: 20 }, 0.2),
  ...OPERATORS,
};

/** Injects every kind of fault, in an order by the seed, with pauses in between. */
export async function injectFaults(
  testbed: Testbed,
  isOver: () => boolean,
  random: () => number,
): Promise<void> {
  heal(testbed);
  let order: string[] = [];
  while (!isOver()) {
    await sleep(200 + random() * 1_800);
    if (order.length === 0) {
      order = Object.keys(INJECTIONS)
        .map((name): [number, string] => [random(), name])
        .sort()
        .map(([, name]) => name);
    }
    const kind = order.pop() as string;
    const fault = { kind, from: testbed.now(), to: Number.POSITIVE_INFINITY };
    testbed.faults.push(fault);
    await INJECTIONS[kind]?.(testbed, random);
    fault.to = testbed.now();
  }
  heal(testbed);
}
