/** Longer words are not compared, to bound the time. */
const MAX_LENGTH = 64;

/**
 * Returns " Did you mean `startsAt`?" if a known word is similar to the given one, and an empty text otherwise. The given
 * word is not repeated, because it can be any text.
 */
export function didYouMean(given: unknown, known: readonly string[]): string {
  const word = typeof given === 'string' ? closest(given, known) : undefined;
  return word === undefined ? '' : ` Did you mean \`${word}\`?`;
}

/**
 * Finds the known word that is most similar to the given one: at most every third letter differs, ignoring letter case and
 * separators as in `starts_at`. Of equally similar words it returns the first; undefined when none is similar.
 */
export function closest(given: string, known: readonly string[]): string | undefined {
  if (given.length > MAX_LENGTH) {
    return undefined;
  }
  const word = plain(given);
  let best: string | undefined;
  let bestDistance = Math.floor(Math.max(word.length, 3) / 3) + 1;
  for (const candidate of known) {
    const letters = plain(candidate);
    const found = distance(word, letters);
    // A distance of a whole word means that no letter matches.
    if (found < bestDistance && found < Math.min(word.length, letters.length)) {
      best = candidate;
      bestDistance = found;
    }
  }
  return best;
}

/** Normalizes a word. A leading hyphen is significant (`-createdAt`), separators between words are not. */
function plain(word: string): string {
  return word.toLowerCase().replaceAll(/(?<=.)[-_ ]/g, '');
}

/**
 * The number of letters to insert, delete, replace or swap with a neighbour: the restricted Damerau–Levenshtein distance
 * (optimal string alignment; F. Damerau, 1964, https://doi.org/10.1145/363958.363994; the table is that of Wagner and
 * Fischer, 1974, https://doi.org/10.1145/321796.321811).
 */
export function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (last[column - 1] as number) + (isSame ? 0 : 1),
        isSwapped ? (beforeLast[column - 2] as number) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return last[b.length] as number;
}
