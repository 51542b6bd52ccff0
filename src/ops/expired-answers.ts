import plugin from 'fastify-plugin';
import type { Database } from '../database/database.js';
import { reasonOf } from '../database/errors.js';
import { NO_TENANT } from '../database/pool.js';
import type { Entry } from '../database/read.js';
import { sql } from '../database/sql.js';

/** What one run deleted, and what is left. */
interface Expired {
  deleted: number;
  /** The size of app.idempotency_keys with its indexes, as a decimal number of bytes. */
  keptBytes: string;
}

declare module 'fastify' {
  interface FastifyInstance {
    expiredAnswers: {
      /** Deletes all answers that have expired. Never fails: what goes wrong is logged. */
      run(): Promise<void>;
      /** Answers deleted since the start of the process. */
      readonly deleted: number;
      /** The size of app.idempotency_keys with its indexes after the last run, in bytes. */
      readonly keptBytes: number;
    };
  }
}

/** As many as app.delete_expired_answers deletes at a time. */
const BATCH = 1_000;

/**
 * Deletes the answers to requests with an Idempotency-Key that are older than 24 hours, of all clubs, a batch at a time.
 *
 * @param everyMs from the end of one run to the beginning of the next; null to run only when asked
 */
export const expiredAnswers = plugin<{ database: Database; everyMs: number | null }>(
  async (app, { database, everyMs }) => {
    let deleted = 0;
    let keptBytes = 0;
    let isFailing = false;
    let isClosed = false;
    let timer: NodeJS.Timeout | undefined;

    async function run(): Promise<void> {
      try {
        let batch: number;
        do {
          const expired = await deleteBatch(database);
          batch = expired.deleted;
          deleted += batch;
          keptBytes = Number(expired.keptBytes);
        } while (batch === BATCH && !isClosed);
        isFailing = false;
      } catch (error) {
        if (!isFailing && !isClosed) {
          app.log.warn({ reason: reasonOf(error) }, 'expired answers cannot be deleted');
        }
        isFailing = true;
      }
    }

    async function repeat(pauseMs: number): Promise<void> {
      await run();
      if (!isClosed) {
        timer = setTimeout(repeat, pauseMs, pauseMs).unref();
      }
    }

    app.decorate('expiredAnswers', {
      run,
      get deleted() {
        return deleted;
      },
      get keptBytes() {
        return keptBytes;
      },
    });
    app.addHook('onReady', async () => {
      if (everyMs !== null) {
        void repeat(everyMs);
      }
    });
    app.addHook('onClose', async () => {
      isClosed = true;
      clearTimeout(timer);
    });
  },
  { name: 'expired-answers' },
);

const outsideOfClubs: Entry<object> = {
  tenant: NO_TENANT,
  columns: sql`true as entered`,
  verify: () => true,
};

async function deleteBatch(database: Database): Promise<Expired> {
  const [expired] = await database.transaction(
    'read write',
    'deleteExpiredAnswers',
    outsideOfClubs,
    () => {},
    (tx) =>
      tx.query<Expired>(sql`
      select deleted, kept_bytes::text as "keptBytes" from app.delete_expired_answers()`),
  );
  return expired as Expired;
}
