/** What a tenant may see: no word and no id of another one, in an answer or in the log. */
import type { World } from './state.js';

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** The words and ids of other clubs that are in the text, but for those that the request named itself. */
export function foreignIn(world: World, visible: string[], text: string, sent: string): string[] {
  const ids = new Set(text.match(ID));
  const others = [...world.clubs.values()].filter(({ id }) => !visible.includes(id));
  return others.flatMap(({ id, canary, members, tasks, shifts }) => {
    const shown = [id, ...members.keys(), ...tasks.keys(), ...shifts.keys()].filter((one) => ids.has(one));
    return [...shown, ...(text.includes(canary) ? [canary] : [])].filter((word) => !sent.includes(word));
  });
}

/** The canaries that are in a line of the log, where no text of anybody belongs. */
export function canariesIn(world: World, lines: string[]): string[] {
  const text = lines.join('');
  return [...world.clubs.values()].map(({ canary }) => canary).filter((canary) => text.includes(canary));
}
