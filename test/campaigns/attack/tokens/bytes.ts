import type { Attempt } from './target.js';

/** The token with one bit changed, at every place: also in the unused bits of the signature's last character. */
export function oneBitOff(token: string, isWhole: boolean): Attempt[] {
  const changed: Attempt[] = [];
  for (let place = 0; place < token.length; place += 1) {
    for (const bit of isWhole ? [0, 1, 2, 3, 4, 5, 6, 7] : [place % 7]) {
      const character = String.fromCharCode(token.charCodeAt(place) ^ (1 << bit));
      if (/[\x20-\x7e\x80-\xff]/.test(character)) {
        const other = token.slice(0, place) + character + token.slice(place + 1);
        changed.push({ fault: `bit ${bit} of character ${place}, now ${character}`, token: other });
      }
    }
  }
  return changed;
}
