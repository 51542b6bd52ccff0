import plugin from 'fastify-plugin';
import type { Database } from '../database/database.js';
import type { Json } from '../database/json.js';
import { type Query, sql } from '../database/sql.js';
import { OUTSIDE_OF_CLUBS } from '../database/tenant-context.js';
import { startPeriodicJob } from './periodic-job.js';

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
    const run = startPeriodicJob(app, {
      messages: {
        fails: 'expired answers cannot be deleted',
        recovers: 'expired answers can be deleted again',
      },
      work: async (isClosed) => {
        let batch: number;
        do {
          const expired = await deleteBatch(database);
          batch = expired.deleted;
          deleted += batch;
          keptBytes = Number(expired.keptBytes);
        } while (batch === BATCH && !isClosed());
      },
      pauseMs: everyMs === null ? null : () => everyMs,
    });
    app.decorate('expiredAnswers', {
      run,
      get deleted() {
        return deleted;
      },
      get keptBytes() {
        return keptBytes;
      },
    });
  },
  { name: 'expired-answers' },
);

async function deleteBatch(database: Database): Promise<Expired> {
  const query: Query<Expired> = sql`
    select deleted, kept_bytes::text as "keptBytes" from app.delete_expired_answers()`;
  const { rows } = await database.call({
    operation: 'deleteExpiredAnswers',
    context: OUTSIDE_OF_CLUBS,
    query,
  });
  return (rows[0] as Json<Expired>).parse();
}
