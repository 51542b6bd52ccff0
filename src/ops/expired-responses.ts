import type { FastifyInstance } from 'fastify';
import type { Database } from '../database/database.js';
import type { Json } from '../database/json.js';
import { type Query, sql } from '../database/sql.js';
import { OUTSIDE_OF_CLUBS } from '../database/tenant-context.js';
import { startPeriodicJob } from './periodic-job.js';

/** The deletion of stored responses that have expired. */
export interface ExpiredResponses {
  /** Deletes all of them. Never fails: an error is logged. */
  run(): Promise<void>;
  /** The number deleted since the start of the process. */
  readonly deleted: number;
  /** The size of app.idempotency_keys with its indexes after the last run, in bytes. */
  readonly storedBytes: number;
}

/** What one batch deleted, and what is left. */
interface Batch {
  deleted: number;
  /** The size of app.idempotency_keys with its indexes, as a decimal number of bytes. */
  storedBytes: string;
}

/** As many as app.delete_expired_answers deletes at a time. */
const BATCH = 1_000;

/**
 * Deletes the stored responses to requests with an Idempotency-Key that are older than 24 hours, of all clubs, a batch at a
 * time.
 *
 * @param app the service, from whose start to whose end it runs
 * @param everyMs from the end of one run to the start of the next; null to run only when asked
 */
export function deleteExpiredResponses(
  app: FastifyInstance,
  { database, everyMs }: { database: Database; everyMs: number | null },
): ExpiredResponses {
  let deleted = 0;
  let storedBytes = 0;
  const run = startPeriodicJob(app, {
    database,
    messages: {
      fails: 'expired responses cannot be deleted',
      recovers: 'expired responses can be deleted again',
    },
    work: async (isClosed) => {
      let batch: Batch;
      do {
        batch = await deleteBatch(database);
        deleted += batch.deleted;
        storedBytes = Number(batch.storedBytes);
      } while (batch.deleted === BATCH && !isClosed());
    },
    pauseMs: everyMs === null ? null : () => everyMs,
  });
  return {
    run,
    get deleted() {
      return deleted;
    },
    get storedBytes() {
      return storedBytes;
    },
  };
}

async function deleteBatch(database: Database): Promise<Batch> {
  const query: Query<Batch> = sql`
    select deleted, kept_bytes::text as "storedBytes" from app.delete_expired_answers()`;
  const { rows } = await database.call({
    operation: 'deleteExpiredResponses',
    context: OUTSIDE_OF_CLUBS,
    query,
  });
  return (rows[0] as Json<Batch>).parse();
}
