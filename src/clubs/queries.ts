import { type Query, sql } from '../database/sql.js';
import type { ClubDto } from './schemas.js';

/** A club without the caller's role, which comes from the token. */
export type ClubRow = Omit<ClubDto, 'role'>;

const columns = sql`id, name, slug, time_zone as "timeZone", created_at as "createdAt"`;

/** The existing clubs that the caller's token names, ordered by name. */
export function listMyClubs(): Query<ClubRow> {
  return sql`select ${columns} from app.my_clubs()`;
}

/** The club of this transaction. */
export function findCurrentClub(): Query<ClubRow> {
  return sql`select ${columns} from app.clubs`;
}
