/** The clubs of the other cells: clusters of the service, each with its own PostgreSQL. */
import { Type } from '@sinclair/typebox';
import { FetchFailed, fetchJson, reasonOfFetch } from '../http/fetch-json.js';
import { buildResponseCheck } from '../validation/compiler.js';
import { ClubDto } from './schemas.js';

/** The limits of a response. 1 MiB has room for thousands of clubs. */
const LIMITS = { timeoutMs: 1_000, maxBytes: 1024 * 1024 };
/** Limits the connections to a cell that hangs: each is in use for a second, or for ten if it cannot be opened. */
const MAX_IN_PROGRESS = 100;

/** The clubs of a caller in other cells. */
export interface OtherClubs {
  clubs: ClubDto[];
  /** Why cells did not list their clubs, by the names of these cells. */
  missing: Record<string, string>;
}

interface Cell {
  name: string;
  /** The URL of its list of clubs. */
  url: string;
  inProgress: number;
}

/** The other cells. */
export class OtherCells {
  readonly #cells: Cell[];
  readonly #isClubList = buildResponseCheck(Type.Array(ClubDto));

  /** @param origins the origins of the cells by their names */
  constructor(origins: ReadonlyMap<string, string>) {
    this.#cells = [...origins].map(([name, origin]) => ({
      name,
      url: `${origin}/api/clubs/me`,
      inProgress: 0,
    }));
  }

  /** Lists the clubs of a caller in all of these cells at once; it takes a second at most, and never rejects. */
  async listClubs(authorization: string): Promise<OtherClubs> {
    const lists = await Promise.all(
      this.#cells.map(async (cell) => {
        try {
          return { name: cell.name, clubs: await this.#fetchClubs(cell, authorization) };
        } catch (error) {
          return { name: cell.name, clubs: [], reason: reasonOfFetch(error as Error) };
        }
      }),
    );
    return {
      clubs: lists.flatMap(({ clubs }) => clubs),
      missing: Object.fromEntries(lists.flatMap(({ name, reason }) => (reason ? [[name, reason]] : []))),
    };
  }

  /** The clubs of a caller in one cell. @throws Error when the cell does not list them within a second */
  async #fetchClubs(cell: Cell, authorization: string): Promise<ClubDto[]> {
    if (cell.inProgress >= MAX_IN_PROGRESS) {
      throw new FetchFailed(`${MAX_IN_PROGRESS} requests to it are in progress.`);
    }
    cell.inProgress += 1;
    try {
      const clubs = await fetchJson(cell.url, { ...LIMITS, headers: { authorization, 'club-cells': 'own' } });
      if (!this.#isClubList(clubs)) {
        throw new FetchFailed('The response is not a list of clubs.');
      }
      // A later release may send more.
      return clubs.map(({ id, name, slug, timeZone, role, createdAt }) => {
        return { id, name, slug, timeZone, role, createdAt };
      });
    } finally {
      cell.inProgress -= 1;
    }
  }
}

/** English has the order of und-x-icu, the collation of the column; `und` would select the default locale of the process. */
const byUnicode = new Intl.Collator('en');

/**
 * One list in the order of app.my_clubs: by name as the collation und-x-icu orders it, then by the bytes of the name, then by id. The
 * orders differ at most for characters that are younger than the Unicode of PostgreSQL or of Node.js. A club that is in several
 * lists, such as one that is moving, is listed once.
 */
export function mergeClubs(own: ClubDto[], others: ClubDto[]): ClubDto[] {
  // The last one of an id stays in a map.
  const byId = new Map([...own, ...others].reverse().map((club) => [club.id, club]));
  return [...byId.values()].sort(
    (one, other) =>
      byUnicode.compare(one.name, other.name) ||
      Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)) ||
      (one.id < other.id ? -1 : 1),
  );
}
