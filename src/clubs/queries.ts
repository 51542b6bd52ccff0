import { bounded, type Query, type Statement, sql } from '../database/sql.js';
import type { Role } from '../roles.js';
import type { ClubDto } from './schemas.js';

const columns = (role: Statement): Statement => sql`
  id, name, slug, time_zone as "timeZone", ${role} as role, created_at as "createdAt"`;

/**
 * The existing clubs that the caller's token names and the caller has not left, ordered by name.
 *
 * @param roles the caller's roles by the id of the club, from the token
 */
export function listMyClubs(roles: ReadonlyMap<string, Role>): Query<ClubDto> {
  const byClub = JSON.stringify(Object.fromEntries(roles));
  return bounded(sql`select ${columns(sql`${byClub}::jsonb ->> id::text`)} from app.my_clubs()`);
}

/** The club of this transaction, with the caller's role. */
export function findCurrentClub(): Query<ClubDto> {
  return bounded(sql`select ${columns(sql`app.role()`)} from app.clubs`);
}
