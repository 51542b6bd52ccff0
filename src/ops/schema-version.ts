import type { Database } from '../database/database.js';
import { isStatementError } from '../database/errors.js';
import { sql } from '../database/sql.js';
import { readOwn } from '../database/tenant-context.js';
import { readRelease } from '../deploy/release.js';

const UNDEFINED_TABLE = '42P01';
const UNDEFINED_SCHEMA = '3F000';
const NO_PRIVILEGE = '42501';

/** The release of this code: read once, because it does not change while the process runs. */
const { fingerprint } = readRelease();

/**
 * Whether the database is at least as new as this code: the release was applied at some time, and later releases keep
 * what it needs.
 *
 * @throws Unavailable when the database cannot be reached; UnsafeDatabase when it is not safe to serve from
 */
export async function isDeployed(database: Database): Promise<boolean> {
  try {
    const [row] = await readOwn<{ deployed: boolean }>(
      database,
      'isDeployed',
      sql`select exists (select from deploy.releases where fingerprint = ${fingerprint}) as deployed`,
    );
    return row?.deployed === true;
  } catch (error) {
    if (isStatementError(error) && [UNDEFINED_TABLE, UNDEFINED_SCHEMA, NO_PRIVILEGE].includes(error.code)) {
      return false;
    }
    throw error;
  }
}
