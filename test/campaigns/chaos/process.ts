import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Test } from 'tap';
import { root } from '../../../tools/root.js';
import { startFlags } from '../../../tools/start-flags.js';
import { freePort } from '../../setup/free-port.js';
import { until } from '../../setup/wait.js';

/** The shipped service as a separate process, to be killed, frozen and restarted. */
export interface ServiceProcess {
  url: string;
  /** The pid of the process that was started last; 0 before. */
  readonly pid: number;
  /** Unexpected exits and errors. */
  readonly crashes: string[];
  /** The log lines of 500 responses. */
  readonly bugs: string[];
  start(): Promise<void>;
  kill(): Promise<void>;
  freeze(): void;
  resume(): void;
  /** Waits until /readyz answers 200. */
  untilReady(): Promise<void>;
}

/** Longer than any start; a slower start is a failure. */
const START_MS = 120_000;

/** @param isLogRead whether its log is checked; load tests switch that off, because it uses CPU time */
export async function prepareService(
  t: Test,
  program: string,
  environment: Record<string, string>,
  isLogRead = true,
): Promise<ServiceProcess> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const flags = startFlags(root);
  const crashes: string[] = [];
  const bugs: string[] = [];
  let child: ChildProcess | undefined;
  let isWanted = false;

  const untilAnswered = async (path: string, isEnough: (status: number, text: string) => boolean) => {
    const isAnswered = () =>
      fetch(url + path, { signal: AbortSignal.timeout(5_000) }).then(
        async (response) => isEnough(response.status, await response.text()),
        () => isEnough(0, ''),
      );
    if (!(await until(isAnswered, Boolean, { forMs: START_MS }))) {
      throw new Error(`The service does not answer ${path}.`);
    }
  };

  const start = async () => {
    isWanted = true;
    const process_ = spawn(process.execPath, [...flags, program], {
      env: { ...environment, PATH: process.env.PATH, NODE_ENV: 'production', PORT: String(port) },
      stdio: ['ignore', isLogRead ? 'pipe' : 'ignore', 'pipe'],
    });
    child = process_;
    process_.on('exit', (code, signal) => {
      if (isWanted && child === process_) {
        crashes.push(`the process ended with ${signal ?? code}`);
      }
    });
    createInterface(process_.stderr as Readable).on('line', (line) => {
      if (/^\S*(Error|Warning)|unhandled|uncaught/i.test(line)) {
        crashes.push(line);
      }
    });
    if (process_.stdout !== null) {
      createInterface(process_.stdout).on('line', (line) => {
        if (line.includes('"internal_error"') && bugs.length < 20) {
          bugs.push(line);
        }
      });
    }
    await untilAnswered('/livez', (status) => status === 200);
  };
  const kill = async () => {
    isWanted = false;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  };
  t.teardown(kill);
  return {
    url,
    get pid() {
      return child?.pid ?? 0;
    },
    crashes,
    bugs,
    start,
    kill,
    freeze: () => child?.kill('SIGSTOP'),
    resume: () => child?.kill('SIGCONT'),
    // The audit finds defects planted by SQL and would keep the service not ready, so it is ignored here.
    untilReady: () =>
      untilAnswered('/readyz', (status, text) => status === 200 || text.includes('audit found')),
  };
}
