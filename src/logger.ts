import { type Logger, pino } from 'pino';

/**
 * Lines are buffered and written every 15 KiB or every 100 ms: a system call per line took a sixth of the processor time of
 * a request. A write has at most 16 KiB. When the process ends, also by an uncaught error, the last lines are written; they
 * are lost by SIGKILL, and if the log could not be written once. Up to 16 MiB that cannot be written are kept; further lines
 * are dropped.
 */
const LOG = { sync: false, minLength: 15 * 1024, periodicFlush: 100, maxLength: 16 * 1024 * 1024 };
/** The minimum interval between two lines of a throttled log. */
const LOG_INTERVAL_MS = 10_000;
/** The minimum interval between two reports on stderr that the log cannot be written. */
const FAILURE_INTERVAL_MS = 60_000;

export interface Log {
  logger: Logger;
  /** Resolves when the lines in flight are written or failed, for which it waits; the exit of the process writes the rest. */
  flush(): Promise<void>;
}

/** Opens the log on stdout. If it cannot be written, the service continues without it until it can be written again. */
export function openLog(level: string): Log {
  const destination = pino.destination(LOG);
  const report = throttle<string>(
    (_count, message) => console.error(`The log cannot be written: ${message}`),
    FAILURE_INTERVAL_MS,
  );
  destination.on('error', ({ message }: Error) => {
    // At the end of the process flushSync would retry forever.
    destination.flushSync = () => {};
    report(message);
  });
  const flush = () => new Promise<void>((resolve) => destination.flush(() => resolve()));
  return { logger: pino({ level }, destination), flush };
}

/**
 * A throttled log: it logs the first event at once, and those that follow it together when the interval ends.
 *
 * @param log gets the number of events since its last call, and the latest event
 * @returns the function to call for each event
 */
export function throttle<Event>(
  log: (count: number, latest: Event) => void,
  intervalMs = LOG_INTERVAL_MS,
): (event: Event) => void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  let pending: { count: number; latest: Event } | undefined;
  const write = (count: number, latest: Event) => {
    loggedAt = performance.now();
    log(count, latest);
  };
  return (event) => {
    if (pending !== undefined) {
      pending.count += 1;
      pending.latest = event;
      return;
    }
    const restMs = loggedAt + intervalMs - performance.now();
    if (restMs <= 0) {
      write(1, event);
      return;
    }
    const suppressed = { count: 1, latest: event };
    pending = suppressed;
    setTimeout(() => {
      pending = undefined;
      write(suppressed.count, suppressed.latest);
    }, restMs).unref();
  };
}
