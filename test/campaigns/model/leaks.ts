/** Finds canaries and ids of other tenants in answers and in the log. */
import type { World } from './state.js';

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** The canaries and ids of other clubs in the text, except those of the request. */
export function foreignIn(world: World, visible: string[], text: string, sent: string): string[] {
  const ids = new Set(text.match(ID));
  const others = [...world.clubs.values()].filter(({ id }) => !visible.includes(id));
  return others.flatMap(({ id, canary, members, tasks, shifts }) => {
    const shown = [id, ...members.keys(), ...tasks.keys(), ...shifts.keys()].filter((one) => ids.has(one));
    return [...shown, ...(text.includes(canary) ? [canary] : [])].filter((word) => !sent.includes(word));
  });
}

/** The canaries in a log line, which must contain no user text. */
export function canariesIn(world: World, lines: string[]): string[] {
  const text = lines.join('');
  return [...world.clubs.values()].map(({ canary }) => canary).filter((canary) => text.includes(canary));
}
