import { RE2JS } from 're2js';

/** An entry as long as this is no name of a group. */
const ENTRY_LENGTH = 256;
const ENTRIES = 1_000;

/** What the pattern finds in an entry. */
export interface Found {
  club: string;
  role: string;
}

/**
 * The pattern of a list: an expression with the groups `club` and `role`, that a whole entry must match.
 *
 * RE2 (https://github.com/google/re2/wiki/Syntax) matches in time that is linear in the entry, whatever the expression.
 */
export class ClubsPattern {
  readonly #expression: RE2JS;

  /** @throws Error when it is no expression of RE2, or lacks a group */
  constructor(source: string) {
    this.#expression = RE2JS.compile(source);
    const groups = this.#expression.namedGroups();
    if (!('club' in groups && 'role' in groups)) {
      throw new SyntaxError('The expression needs the groups club and role.');
    }
  }

  /**
   * What is found in the entries that match; in the others nothing, which is no fault: a user is in other groups too.
   *
   * @returns a reason instead when there are too many entries
   */
  match(entries: unknown[]): Found[] | string {
    if (entries.length > ENTRIES) {
      return `it has more than ${ENTRIES} entries`;
    }
    const isEntry = (entry: unknown): entry is string =>
      typeof entry === 'string' && entry.length <= ENTRY_LENGTH;
    return entries.filter(isEntry).flatMap((entry) => {
      const matcher = this.#expression.matcher(entry);
      if (!matcher.matches()) {
        return [];
      }
      const [club, role] = [matcher.group('club'), matcher.group('role')];
      return club && role ? [{ club, role }] : [];
    });
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
