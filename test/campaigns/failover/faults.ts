import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../setup/wait.js';
import { type Cluster, type Node, processesOf } from './cluster.js';

/** Takes the primary away from its node, and repairs what it broke when another node is the primary. */
export type Fault = (cluster: Cluster, primary: Node) => Promise<void>;

/** How long the stream to the standbys is held back before the node is lost: commits that only the node has would be lost. */
const HELD_MS = 1_500;
/** How long the old primary still accepts writes when there is a new one. */
const TWO_PRIMARIES_MS = 10_000;

/** Every kind of fault, by name. */
export const FAULTS = {
  'node lost': async (cluster, primary) => {
    signal(primary, 'SIGSTOP', ({ title }) => title.includes('walsender'));
    await sleep(HELD_MS);
    await until(
      () => signal(primary, 'SIGKILL'),
      (killed) => killed === 0,
    );
    await cluster.untilPromoted(primary);
    primary.start();
  },
  switchover: async (cluster, primary) => {
    for (const command of cluster.upgrade) {
      const isSwitchover = command.includes('switchover');
      do {
        await cluster.untilHealed();
        await cluster.control(command, primary);
        // Patroni refuses a switchover if there is no synchronous standby at that moment.
      } while (isSwitchover && (await cluster.leader()) === primary);
    }
  },
  'node frozen': async (cluster, primary) => {
    signal(primary, 'SIGSTOP');
    await cluster.untilPromoted(primary);
    signal(primary, 'SIGCONT');
  },
  'Patroni frozen': async (cluster, primary) => {
    const isPatroni = ({ title }: { title: string }) => title.includes('patroni');
    signal(primary, 'SIGSTOP', isPatroni);
    await cluster.untilPromoted(primary);
    await sleep(TWO_PRIMARIES_MS);
    signal(primary, 'SIGCONT', isPatroni);
  },
  'cut off from etcd': async (cluster, primary) => {
    primary.etcd.greeting = 'hang up';
    primary.etcd.cut();
    await cluster.untilPromoted(primary);
    primary.etcd.greeting = 'connect';
  },
} satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;

/** Sends a signal to the processes of a node; returns how many there were. */
function signal(
  node: Node,
  name: NodeJS.Signals,
  fits: (one: { title: string }) => boolean = () => true,
): number {
  const processes = processesOf(node).filter(fits);
  for (const { pid } of processes) {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended.
    }
  }
  return processes.length;
}
