/** The clubs of a database, as operators find them. */
import type { Client } from '../deploy/client.js';
import { ClubFileRefused } from './errors.js';

export interface ListedClub {
  id: string;
  slug: string;
  name: string;
  /** When it was closed; null in all others. */
  closedAt: string | null;
}

/** How a club moves from or to a database. */
export interface ListedMove {
  moveId: string;
  state: 'leaving' | 'moved' | 'arriving';
  /** The name of the database to which it moves; null where it arrives. */
  targetName: string | null;
}

/** All clubs of the database. @param client as club_owner */
export async function listClubs(client: Client): Promise<ListedClub[]> {
  const { rows } = await client.query<ListedClub>(
    'select id, slug, name, to_json(closed_at) as "closedAt" from app.list_clubs()',
  );
  return rows;
}

/** The club with this id or slug. @param client as club_owner @throws ClubFileRefused */
export async function findClub(client: Client, club: string): Promise<ListedClub> {
  const clubs = await listClubs(client);
  const found = clubs.find(({ id, slug }) => id === club.toLowerCase() || slug === club);
  if (found === undefined) {
    throw new ClubFileRefused(
      `There is no club with the id or slug ${club} in the database ${client.host}/${client.database}. select * from app.list_clubs() lists all.`,
    );
  }
  return found;
}

/** The moves of the database, by the ids of their clubs. @param client as club_owner */
export async function listMoves(client: Client): Promise<Map<string, ListedMove>> {
  const { rows } = await client.query<ListedMove & { id: string }>(
    'select id, move_id as "moveId", state, target as "targetName" from app.list_moves()',
  );
  return new Map(rows.map(({ id, ...move }) => [id, move]));
}
