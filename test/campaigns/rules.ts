/** Isolation, which several campaigns check. Each collects the facts in its own way. */

/** What identifies a club in a text: words that all its texts contain and no other club's, and the ids of its rows. */
export interface ClubMarks {
  words: string[];
  ids: Iterable<string>;
}

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Isolation: a caller sees no text of another club. A response may repeat what was sent with its request. */
export function foreignTexts(others: Iterable<ClubMarks>, text: string, sent = ''): string[] {
  const words = [...others].flatMap(({ words }) => words.filter((word) => text.includes(word)));
  return words
    .flatMap((word) => text.match(new RegExp(`${word}[a-z0-9-]*`, 'g')) ?? [])
    .filter((shown) => !sent.toLowerCase().includes(shown));
}

/** Isolation: a caller sees no id of another club's row. A response may repeat what was sent with its request. */
export function foreignIds(others: Iterable<ClubMarks>, text: string, sent = ''): string[] {
  const shown = new Set(text.match(ID));
  return [...others]
    .flatMap(({ ids }) => [...ids].filter((id) => shown.has(id)))
    .filter((id) => !sent.toLowerCase().includes(id));
}
