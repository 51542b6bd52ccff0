import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Database } from '../database/database.js';
import { reasonOf } from '../database/errors.js';

/** Work of the service beside its requests. */
export interface PeriodicJob {
  /** The database that the work uses. */
  database: Database;
  /** What is logged when it begins to fail, such as "the audit cannot be run", and when it succeeds again. */
  messages: { fails: string; recovers: string };
  /** Does the work once. After a longer step it returns when the service is closed. */
  work(isClosed: () => boolean): Promise<void>;
  /** From the end of a run to the start of the next, in milliseconds; null to run only when asked. */
  pauseMs: (() => number) | null;
}

/** The last reason that was logged for each database. */
const lastReasons = new WeakMap<Database, string>();

/**
 * Logs why a database cannot be used, unless the line before had the same reason: the start of the service and its jobs
 * often fail for one cause.
 */
export function warnOfReason(
  log: FastifyBaseLogger,
  database: Database,
  { reason, message }: { reason: string; message: string },
): void {
  if (lastReasons.get(database) !== reason) {
    lastReasons.set(database, reason);
    log.warn({ reason }, message);
  }
}

/**
 * Repeats a job from the start of the service until it is closed. The start does not wait for the first run.
 *
 * @returns a function that runs the job now, or waits for the run that has begun. It never fails: a failure is
 * logged, unless the run before, the start or another job failed for the same reason
 */
export function startPeriodicJob(app: FastifyInstance, job: PeriodicJob): () => Promise<void> {
  const { database, messages, work, pauseMs } = job;
  /** Why the last run failed; undefined when it succeeded. */
  let failure: string | undefined;
  let isClosed = false;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function attempt(): Promise<void> {
    try {
      await work(() => isClosed);
      if (failure !== undefined && !isClosed) {
        app.log.info(messages.recovers);
      }
      failure = undefined;
      lastReasons.delete(database);
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== failure && !isClosed) {
        warnOfReason(app.log, database, { reason, message: messages.fails });
      }
      failure = reason;
    }
  }

  function run(): Promise<void> {
    running ??= attempt().finally(() => {
      running = undefined;
    });
    return running;
  }

  async function repeat(nextPauseMs: () => number): Promise<void> {
    await run();
    if (!isClosed) {
      timer = setTimeout(repeat, nextPauseMs(), nextPauseMs).unref();
    }
  }

  app.addHook('onReady', async () => {
    if (pauseMs !== null) {
      void repeat(pauseMs);
    }
  });
  app.addHook('onClose', async () => {
    isClosed = true;
    clearTimeout(timer);
  });
  return run;
}
