import { RE2JS } from 're2js';

/** The maximum length of an entry; longer entries are ignored. */
const ENTRY_LENGTH = 256;
const ENTRIES = 1_000;

/** The captured groups of a matching entry. */
export interface Found {
  club: string;
  role: string;
}

/**
 * A regular expression with the groups `club` and `role` that must match a whole entry of a list.
 *
 * RE2 (https://github.com/google/re2/wiki/Syntax) matches any expression in time linear in the length of the entry.
 */
export class ClubsPattern {
  readonly #expression: RE2JS;

  /** @throws Error when the source is not an RE2 expression, or has no group `club` or `role` */
  constructor(source: string) {
    this.#expression = RE2JS.compile(source);
    const groups = this.#expression.namedGroups();
    if (!('club' in groups && 'role' in groups)) {
      throw new SyntaxError('The expression needs the groups club and role.');
    }
  }

  /**
   * Returns the groups of the entries that match. Other entries are ignored, because a user can be in other groups too.
   *
   * @returns the reason, as a text, when there are too many entries
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

/** Whether the text is a valid pattern. */
export function isClubsPattern(text: string): boolean {
  try {
    new ClubsPattern(text);
    return true;
  } catch {
    return false;
  }
}
