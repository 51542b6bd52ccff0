import { type Logger, pino } from 'pino';

/**
 * Lines are written together, when there is a page of them or a tenth of a second has passed: a system call for each
 * took a sixth of the processor time of a request. At the end of the process they are all written, also when it ends
 * by a fault; only SIGKILL takes the last ones along. What cannot be written is kept up to 16 MiB; then lines are dropped.
 */
const LOG = { sync: false, minLength: 4_096, periodicFlush: 100, maxLength: 16 * 1024 * 1024 };
/** What happens in a flood is told this often, so that it does not flood the log. */
const TELL_EVERY_MS = 10_000;
/** That the log cannot be written is told this often, on stderr. */
const TELL_FAILURE_EVERY_MS = 60_000;

export interface Log {
  logger: Logger;
  /** Resolves when what was logged is written, or cannot be; not before, even if nobody reads it. */
  flush(): Promise<void>;
}

/** The log, on stdout. Where it cannot be written the service goes on without, and with it again when there is room. */
export function openLog(level: string): Log {
  const destination = pino.destination(LOG);
  const tell = tellSometimes<string>(
    (_times, message) => console.error(`The log cannot be written: ${message}`),
    TELL_FAILURE_EVERY_MS,
  );
  destination.on('error', ({ message }: Error) => {
    // At the end of the process it would be tried for ever.
    destination.flushSync = () => {};
    tell(message);
  });
  const flush = () => new Promise<void>((resolve) => destination.flush(() => resolve()));
  return { logger: pino({ level }, destination), flush };
}

/**
 * Counts what happens, and tells of it once in a while: the first time at once.
 *
 * @param tell hears how many times it was since it last did, and of the last one
 * @returns what is to be called each time
 */
export function tellSometimes<Last>(
  tell: (times: number, last: Last) => void,
  everyMs = TELL_EVERY_MS,
): (last: Last) => void {
  let times = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  return (last) => {
    times += 1;
    if (performance.now() - toldAt >= everyMs) {
      tell(times, last);
      times = 0;
      toldAt = performance.now();
    }
  };
}
