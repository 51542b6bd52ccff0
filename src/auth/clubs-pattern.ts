import { createContext, Script } from 'node:vm';

/** An entry as long as this is no name of a group; shorter ones leave an expression less to try. */
const ENTRY_LENGTH = 256;
const ENTRIES = 1_000;
/**
 * How long the entries of one token may take. A match takes microseconds; an expression that tries every way
 * through an entry takes years, and nothing else would run meanwhile.
 */
const TIMEOUT_MS = 250;

/** What the pattern finds in an entry. */
export interface Found {
  club: string;
  role: string;
}

/** The pattern of a list: an expression with the groups `club` and `role`, that a whole entry must match. */
export class ClubsPattern {
  readonly #source: { expression: RegExp; entries: string[] };
  readonly #match = new Script('entries.map((entry) => expression.exec(entry)?.groups)');

  /** @throws SyntaxError when it is no expression, or lacks a group */
  constructor(source: string) {
    new RegExp(source, 'u');
    const groups = new RegExp(`(?:${source})|`, 'u').exec('')?.groups ?? {};
    if (!('club' in groups && 'role' in groups)) {
      throw new SyntaxError('The expression needs the groups club and role.');
    }
    this.#source = createContext({ expression: new RegExp(`^(?:${source})$`, 'u'), entries: [] }) as never;
  }

  /**
   * What is found in the entries that match; in the others nothing, which is no fault: a user is in other groups too.
   *
   * @returns a reason instead when the entries cannot be matched
   */
  match(entries: unknown[]): Found[] | string {
    if (entries.length > ENTRIES) {
      return `it has more than ${ENTRIES} entries`;
    }
    const isEntry = (entry: unknown) => typeof entry === 'string' && entry.length <= ENTRY_LENGTH;
    this.#source.entries = entries.filter(isEntry) as string[];
    try {
      const found: (Partial<Found> | undefined)[] = this.#match.runInContext(this.#source, {
        timeout: TIMEOUT_MS,
      });
      return found.filter((groups): groups is Found => Boolean(groups?.club && groups.role));
    } catch {
      return `matching it takes longer than ${TIMEOUT_MS} milliseconds`;
    }
  }
}

/** Whether the text is a pattern of clubs and roles. */
export function isClubsPattern(text: string): boolean {
  try {
    new ClubsPattern(text);
    return true;
  } catch {
    return false;
  }
}
