/** Finds canaries and ids of other clubs in answers and in the log. */
import { type ClubMarks, foreignIds, foreignTexts } from '../rules.js';
import type { Club, World } from './state.js';

const marksOf = ({ id, canary, members, tasks, shifts }: Club): ClubMarks => ({
  words: [canary],
  ids: [id, ...members.keys(), ...tasks.keys(), ...shifts.keys()],
});

/** The texts and ids of the clubs that the caller may not see, except those of the request. */
export function foreignIn(world: World, visible: string[], text: string, sent: string): string[] {
  const others = [...world.clubs.values()].filter(({ id }) => !visible.includes(id)).map(marksOf);
  return [...foreignTexts(others, text, sent), ...foreignIds(others, text, sent)];
}

/** The canaries in a log line, which must contain no user text. */
export function canariesIn(world: World, lines: string[]): string[] {
  return foreignTexts([...world.clubs.values()].map(marksOf), lines.join(''));
}
