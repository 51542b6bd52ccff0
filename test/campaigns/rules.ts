/**
 * The rules that several campaigns check: isolation and the places of a shift. Each campaign collects the facts in its own
 * way. The workflow of tasks is in `test/setup/workflow.ts`.
 */

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

/** A broken rule of the places of a shift, and its proof in words. */
export interface PlaceFault {
  kind: 'overfull' | 'doubled' | 'miscounted';
  proof: string;
}

/** Signups: no more than the capacity, one for each member, and `signupCount` is their number. */
export function placeFaults(
  { capacity, signupCount }: { capacity: number; signupCount: number },
  members: string[] | undefined,
): PlaceFault[] {
  const held = Math.max(signupCount, members?.length ?? 0);
  const faults: (PlaceFault | false)[] = [
    held > capacity && { kind: 'overfull', proof: `${held} signups for ${capacity} places` },
    members !== undefined &&
      new Set(members).size < members.length && { kind: 'doubled', proof: 'a member is signed up twice' },
    members !== undefined &&
      members.length !== signupCount && {
        kind: 'miscounted',
        proof: `${members.length} signups, counted as ${signupCount}`,
      },
  ];
  return faults.filter((fault) => fault !== false);
}
