import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** A tick of the kernel's clock, in microseconds. */
const TICK_US = 1e6 / Number(execFileSync('getconf', ['CLK_TCK']).toString());

/** Processor time that was used so far, in microseconds. */
export interface Use {
  contender: number;
  postgres: number;
  generator: number;
  /** The whole machine: used, stolen by the host, and in total. */
  busy: number;
  stolen: number;
  atMs: number;
}

/**
 * Reads the processor time of the contender, of all PostgreSQL processes and of this process.
 *
 * @param contender the id of its process; of this process for children that have ended
 */
export function readUse(contender: number, postmaster: number): Use {
  const [line = ''] = readFileSync('/proc/stat', 'latin1').split('\n', 1);
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
    .split(/\s+/)
    .map(Number);
  const own = process.cpuUsage();
  return {
    contender:
      ticksOf(contender, contender === process.pid) * TICK_US -
      (contender === process.pid ? own.user + own.system : 0),
    postgres: familyOf(postmaster).reduce((sum, pid) => sum + ticksOf(pid, pid === postmaster), 0) * TICK_US,
    generator: own.user + own.system,
    busy: (user + nice + system + irq + softirq + steal) * TICK_US,
    stolen: steal * TICK_US,
    atMs: performance.now(),
  };
}

/** The processor time of one process so far, in microseconds; more precise than ticks. */
export function processorUs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ', 1)[0]) / 1_000;
}

/** The process and its children, such as the backends of PostgreSQL. */
function familyOf(postmaster: number): number[] {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'latin1');
  return [postmaster, ...children.trim().split(' ').filter(Boolean).map(Number)];
}

/** User and system time of a process; on request with its ended children. */
function ticksOf(pid: number, withChildren: boolean): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15);
    return user + system + (withChildren ? childUser + childSystem : 0);
  } catch {
    // The process has ended; its time counts for its parent.
    return 0;
  }
}

/** The resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1024;
}

/** A description of the processors of this machine. */
export function processorName(): string {
  const info = readFileSync('/proc/cpuinfo', 'latin1');
  return /model name\s*:\s*(.*)/.exec(info)?.[1] ?? 'unknown';
}

/** The number of processors. */
export function processorCount(): number {
  return readdirSync('/sys/devices/system/cpu').filter((name) => /^cpu\d+$/.test(name)).length;
}
