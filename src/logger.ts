import { type Logger, pino } from 'pino';

/**
 * Lines are written together, when there is a page of them or a tenth of a second has passed: a system call for each
 * took a sixth of the processor time of a request. At the end of the process they are all written, also when it ends
 * by a fault; only SIGKILL takes the last ones along. What cannot be written is kept up to 16 MiB; then lines are dropped.
 */
const LOG = { sync: false, minLength: 4_096, periodicFlush: 100, maxLength: 16 * 1024 * 1024 };
/** Events that come in floods are logged this often. */
const LOG_INTERVAL_MS = 10_000;
/** That the log cannot be written is said this often, on stderr. */
const FAILURE_INTERVAL_MS = 60_000;

export interface Log {
  logger: Logger;
  /** Resolves when what was logged is written, or cannot be; not before, even if nobody reads it. */
  flush(): Promise<void>;
}

/** The log, on stdout. Where it cannot be written the service goes on without, and with it again when there is room. */
export function openLog(level: string): Log {
  const destination = pino.destination(LOG);
  const report = throttle<string>(
    (_count, message) => console.error(`The log cannot be written: ${message}`),
    FAILURE_INTERVAL_MS,
  );
  destination.on('error', ({ message }: Error) => {
    // At the end of the process it would be tried for ever.
    destination.flushSync = () => {};
    report(message);
  });
  const flush = () => new Promise<void>((resolve) => destination.flush(() => resolve()));
  return { logger: pino({ level }, destination), flush };
}

/**
 * Counts events and logs them at most once in a while: the first one at once.
 *
 * @param log gets the number of events since it was last called, and the latest of them
 * @returns what is called at each event
 */
export function throttle<Event>(
  log: (count: number, latest: Event) => void,
  intervalMs = LOG_INTERVAL_MS,
): (event: Event) => void {
  let count = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (event) => {
    count += 1;
    if (performance.now() - loggedAt >= intervalMs) {
      log(count, event);
      count = 0;
      loggedAt = performance.now();
    }
  };
}
