import { UnsafeRole } from './failures.js';
import type { Session } from './session.js';
import { sql } from './sql.js';

/**
 * Checks the login of a new session: isolation rests on policies, so a role that they do not bind, or that can
 * become one they do not bind, is refused. A session that has a backend of its own is told to plan each statement
 * once, and to read where nothing else is said.
 *
 * @throws UnsafeRole naming the role and the reason
 * @throws Unavailable when the database cannot be reached
 */
export async function admit(session: Session): Promise<void> {
  const { rows } = await session.send(sql`
    select
      role.rolname as name,
      case
        when role.rolsuper then 'is a superuser'
        when role.rolbypassrls then 'has BYPASSRLS'
        when role.rolcreaterole then 'has CREATEROLE'
        when exists (
          select from pg_roles as other
          where (other.rolsuper or other.rolbypassrls or other.rolcreaterole)
            and pg_has_role(role.oid, other.oid, 'member')
        ) then 'may become a role that policies do not bind'
        when exists (
          select from pg_class as class
          where class.relnamespace = to_regnamespace('app') and pg_has_role(role.oid, class.relowner, 'member')
        ) then 'may become the owner of the tables'
      end as reason
    from pg_roles as role
    -- The session's own login too: RESET ROLE leads back to it.
    where role.rolname in (session_user, current_user)
    order by reason nulls last
    limit 1`);
  const [login] = rows as { name: string; reason: string | null }[];
  if (login?.reason) {
    throw new UnsafeRole(
      `The login ${login.name} of DATABASE_URL ${login.reason}, so row-level security would not hold for it. ` +
        'Use club_api, which sql/roles.sql makes.',
    );
  }
  if (session.ownsBackend) {
    // Left to itself PostgreSQL plans a page anew for each limit, which takes longer than reading it. And no plan could
    // know the club, which policies read from the context. A transaction without BEGIN, and so without a mode of its
    // own, reads, from one snapshot.
    await session.send(sql`
      select
        set_config('plan_cache_mode', 'force_generic_plan', false),
        set_config('default_transaction_isolation', 'repeatable read', false),
        set_config('default_transaction_read_only', 'on', false)`);
  }
}
