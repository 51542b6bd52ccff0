import { readRelease } from '../deploy/release.js';
import type { Database } from './database.js';
import type { Entry } from './entry.js';
import { isStatementError } from './failures.js';
import { sql } from './sql.js';

const UNDEFINED_TABLE = '42P01';
const UNDEFINED_SCHEMA = '3F000';
const NO_PRIVILEGE = '42501';

/** The release of this code: read once, because it does not change while the process runs. */
const { fingerprint } = readRelease();

/**
 * Whether the database is at least as new as this code: the release was applied here at some time, and whatever
 * was applied since keeps what it needs.
 *
 * @throws Unavailable when the database cannot be reached; UnsafeRole when its login is not safe to serve as
 */
export async function isDeployed(database: Database): Promise<boolean> {
  let deployed = false;
  const entry: Entry<{ asked: string; deployed: boolean }> = {
    statement: sql`
      select ${fingerprint}::text as asked,
        exists (select from deploy.releases where fingerprint = ${fingerprint}) as deployed`,
    isEcho: ({ asked }) => asked === fingerprint,
    accept: (row) => {
      deployed = row.deployed;
    },
  };
  try {
    await database.transaction('read once', entry, async () => {});
  } catch (error) {
    if (isStatementError(error) && [UNDEFINED_TABLE, UNDEFINED_SCHEMA, NO_PRIVILEGE].includes(error.code)) {
      return false;
    }
    throw error;
  }
  return deployed;
}
