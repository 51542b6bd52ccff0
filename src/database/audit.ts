import { DEPLOY_LOCK } from '../deploy/locks.js';
import type { Database } from './database.js';
import type { Entry } from './entry.js';
import { Unavailable } from './failures.js';
import { sql } from './sql.js';

/** What the audit of the database holds against it. `make audit` says more. */
export interface Finding {
  code: string;
  severity: string;
  object: string;
  detail: string;
}

const ASKED = 'audit';

/**
 * Between the migrations of a deploy and its chapters nothing is as it is meant to be, so an audit keeps away from
 * it; and a deploy waits for an audit, instead of each for the locks of the other.
 */
const beside: Entry<{ asked: string; free: boolean }> = {
  statement: sql`select ${ASKED}::text as asked, pg_try_advisory_xact_lock_shared(${DEPLOY_LOCK}) as free`,
  isEcho: ({ asked }) => asked === ASKED,
  accept: ({ free }) => {
    if (!free) {
      throw new Unavailable('A deploy is under way.');
    }
  },
};

/**
 * Reads what the audit finds, in some tenths of a second of one session.
 *
 * @throws Unavailable when the database cannot be reached, or is being deployed to
 */
export function readFindings(database: Database): Promise<Finding[]> {
  return database.transaction('read only', beside, async (tx) => {
    // The first statement leaves together with the entry, so it is not the audit: that waits for the entry's answer.
    // The facts are compared as they are printed, and on the path of the deploy names are printed in full.
    await tx.query(sql`select set_config('search_path', 'pg_catalog', true)`);
    return tx.query<Finding>(sql`select code, severity, object, detail from audit.findings`);
  });
}
