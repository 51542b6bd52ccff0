import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Cell, Cells } from './testbed.js';

const EVERY_MS = 10;

/** What was seen of the two databases. */
export interface Watched {
  readings: number;
  /** Moments at which a club was open in both, in words. */
  violations: string[];
}

/** Reads the clubs that are open in each database, again and again. */
export async function watch(cells: Cells, isOver: () => boolean): Promise<Watched> {
  const { west, east, clubs } = cells;
  const readers = [openReader(west), openReader(east)] as const;
  const watched: Watched = { readings: 0, violations: [] };
  while (!isOver()) {
    // A club that is open in the west, then in the east, then in the west again was in both: none moves there and back in this time.
    const first = await readers[0].read();
    const other = await readers[1].read();
    const again = await readers[0].read();
    if (first !== undefined && other !== undefined && again !== undefined) {
      watched.readings += 1;
      const inBoth = first.filter((club) => other.includes(club) && again.includes(club));
      for (const id of inBoth) {
        const { canary = id } = clubs.find((club) => club.id === id) ?? {};
        watched.violations.push(`${canary} is open in both databases at ${Math.round(cells.now())} ms`);
      }
    }
    await sleep(EVERY_MS);
  }
  await Promise.all(readers.map(({ close }) => close()));
  return watched;
}

/** A session of the superuser that is opened again after the server was restarted. */
function openReader({ server, database }: Cell) {
  let client: pg.Client | undefined;
  const close = async () => {
    await client?.end().catch(() => {});
    client = undefined;
  };
  /** The ids of the open clubs; undefined while the server is away. */
  const read = async (): Promise<string[] | undefined> => {
    try {
      if (client === undefined) {
        client = new pg.Client(server.urls(database).admin);
        client.on('error', () => {});
        await client.connect();
      }
      const { rows } = await client.query<{ id: string }>(
        'select id from app.clubs where closed_at is null and move_state is null',
      );
      return rows.map(({ id }) => id);
    } catch {
      await close();
      return undefined;
    }
  };
  return { read, close };
}
