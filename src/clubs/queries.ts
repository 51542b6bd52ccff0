import { sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';
import type { ClubDto } from './schemas.js';

/** A club as the database knows it; the role in it comes from the caller's token. */
export type ClubRow = Omit<ClubDto, 'role'>;

/** The clubs that the caller's token names and that exist, by name. */
export function listMyClubs(tx: Transaction): Promise<ClubRow[]> {
  return tx.query(sql`select id, name, slug, time_zone, created_at from app.my_clubs()`);
}

/** The club of this transaction. */
export async function findCurrentClub(tx: Transaction): Promise<ClubRow> {
  const [club] = await tx.query<ClubRow>(sql`select id, name, slug, time_zone, created_at from app.clubs`);
  return club as ClubRow;
}
