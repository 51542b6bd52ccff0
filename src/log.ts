import { type Logger, pino } from 'pino';

/**
 * Lines are written together, when there is a page of them or a tenth of a second has passed: a system call for each
 * took a sixth of the processor time of a request. At the end of the process they are all written, also when it ends
 * by a fault; only SIGKILL takes the last ones along. What cannot be written is kept up to 16 MiB; then lines are dropped.
 */
const LOG = { sync: false, minLength: 4_096, periodicFlush: 100, maxLength: 16 * 1024 * 1024 };
/** That it cannot be written is told this often, on stderr. */
const TELL_EVERY_MS = 60_000;

export interface Log {
  logger: Logger;
  /** Resolves when what was logged is written, or cannot be; not before, even if nobody reads it. */
  flush(): Promise<void>;
}

/** The log, on stdout. Where it cannot be written the service goes on without, and with it again when there is room. */
export function openLog(level: string): Log {
  const destination = pino.destination(LOG);
  let toldAt = Number.NEGATIVE_INFINITY;
  destination.on('error', ({ message }: Error) => {
    // At the end of the process it would be tried for ever.
    destination.flushSync = () => {};
    if (performance.now() - toldAt >= TELL_EVERY_MS) {
      toldAt = performance.now();
      console.error(`The log cannot be written: ${message}`);
    }
  });
  const flush = () => new Promise<void>((resolve) => destination.flush(() => resolve()));
  return { logger: pino({ level }, destination), flush };
}
