import { Standby, UnsafeDatabase } from './errors.js';
import type { Role } from './socket.js';
import { type Query, sql } from './sql.js';

/** What decides about the role of a session. */
export interface RoleFacts {
  isStandby: boolean;
  /** Whether its transactions are read-only by default. */
  isReadOnly: boolean;
}

/** Requires a session with this role. @throws Standby */
export function requireRole(role: Role, facts: RoleFacts | undefined): void {
  if (facts?.isStandby && role !== 'any') {
    throw new Standby();
  }
  if (facts?.isReadOnly && role === 'read-write') {
    throw new Standby('The server is read-only.');
  }
}

/** The properties of a session that decide whether the service uses it. */
export interface SessionFacts extends RoleFacts {
  login: string;
  /** Why row-level security does not apply to the login; null when it does. */
  danger: string | null;
  hasCitus: boolean;
}

/**
 * Checks a new session before its first use. Policies isolate the clubs, so a login that bypasses policies, or that can
 * become a role that does, is refused.
 *
 * @param role what the session must be
 * @param query runs a statement in the session
 * @throws UnsafeDatabase naming the reason; Standby when the server does not have the role
 * @throws what `query` throws
 */
export async function checkSession(
  role: Role,
  query: (statement: Query<SessionFacts>) => Promise<SessionFacts[]>,
): Promise<void> {
  const [facts] = await query(sql`
    /* checkSession */
    select
      role.rolname as login,
      case
        when role.rolsuper then 'is a superuser'
        when role.rolbypassrls then 'has BYPASSRLS'
        when role.rolcreaterole then 'has CREATEROLE'
        when exists (
          select from pg_catalog.pg_roles as other
          where (other.rolsuper or other.rolbypassrls or other.rolcreaterole)
            and pg_catalog.pg_has_role(role.oid, other.oid, 'member')
        ) then 'may become a role that policies do not bind'
        when exists (
          select from pg_catalog.pg_class as class
          where class.relnamespace = pg_catalog.to_regnamespace('app')
            and pg_catalog.pg_has_role(role.oid, class.relowner, 'member')
        ) then 'may become the owner of the tables'
      end as danger,
      exists (select from pg_catalog.pg_extension where extname = 'citus') as "hasCitus",
      pg_catalog.pg_is_in_recovery() as "isStandby",
      pg_catalog.current_setting('default_transaction_read_only') = 'on' as "isReadOnly"
    from pg_catalog.pg_roles as role
    -- session_user as well: RESET ROLE returns to it.
    where role.rolname in (session_user, current_user)
    order by danger nulls last
    limit 1`);
  requireRole(role, facts);
  if (facts === undefined) {
    throw new UnsafeDatabase(
      'The login of DATABASE_URL is not a role of the server. Use club_api, which sql/roles.sql creates.',
    );
  }
  if (facts.danger !== null) {
    throw new UnsafeDatabase(
      `The login ${facts.login} of DATABASE_URL ${facts.danger}, so row-level security does not apply to it. ` +
        'Use club_api, which sql/roles.sql creates.',
    );
  }
  if (facts.hasCitus) {
    throw new UnsafeDatabase(
      'The database has the extension citus, whose workers turn restrictive policies into permissive ones. Use a database without citus.',
    );
  }
}
