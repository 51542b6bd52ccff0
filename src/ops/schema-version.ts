import type { Database } from '../database/database.js';
import { isStatementError, Standby, WrongLogin } from '../database/errors.js';
import { sql } from '../database/sql.js';
import { SQLSTATE } from '../database/sql-states.js';
import { OUTSIDE_OF_CLUBS, readOwn } from '../database/tenant-context.js';
import { releaseFingerprint } from '../deploy/release.js';

/** The SQLSTATEs of a database that was never deployed, or of another login. */
const NOT_READABLE: string[] = [
  SQLSTATE.INVALID_SCHEMA_NAME,
  SQLSTATE.UNDEFINED_TABLE,
  SQLSTATE.INSUFFICIENT_PRIVILEGE,
];

/**
 * Whether the database is at least as new as this code: the release was applied at some time, and later releases keep
 * what it needs.
 *
 * @throws Unavailable when the database cannot be reached; UnsafeDatabase when it is not safe to serve from; WrongLogin
 *   when the login is not that of the service; Standby
 */
export async function isDeployed(database: Database): Promise<boolean> {
  try {
    const [row] = await readOwn<{ deployed: boolean; isStandby: boolean }>(
      database,
      'isDeployed',
      sql`select exists (select from deploy.releases where fingerprint = ${releaseFingerprint()}) as deployed,
        pg_catalog.pg_is_in_recovery() as "isStandby"`,
    );
    if (row?.isStandby) {
      throw new Standby();
    }
    return row?.deployed === true;
  } catch (error) {
    if (!isStatementError(error) || !NOT_READABLE.includes(error.code)) {
      throw error;
    }
    await requireLogin(database);
    return false;
  }
}

/**
 * Requires the login of the service: with another one every read fails, also after a deploy. This is a transaction, because
 * a read locks a table that the other login may not use.
 */
async function requireLogin(database: Database): Promise<void> {
  const [row] = await database.transaction({
    operation: 'readLogin',
    mode: 'read only',
    context: OUTSIDE_OF_CLUBS,
    work: (tx) =>
      tx.query<{ login: string; isService: boolean }>(sql`
        select session_user as login, exists (
          select from pg_catalog.pg_roles as role
          where role.rolname = 'club_api' and pg_catalog.pg_has_role(session_user, role.oid, 'usage')
        ) as "isService"`),
  });
  if (row?.isService === false) {
    throw new WrongLogin(
      `The login ${row.login} lacks the privileges of the service: DATABASE_URL must log in as club_api.`,
    );
  }
}
