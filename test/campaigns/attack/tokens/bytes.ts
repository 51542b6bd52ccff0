import type { Attempt } from './target.js';

/** A token with one bit changed, for every character; in the full run for every bit of it. */
export function oneBitOff(token: string, isWhole: boolean): { changed: Attempt[]; same: string[] } {
  const start = token.lastIndexOf('.') + 1;
  const signature = Buffer.from(token.slice(start), 'base64url');
  const changed: Attempt[] = [];
  const same: string[] = [];
  for (let place = 0; place < token.length; place += 1) {
    for (const bit of isWhole ? [0, 1, 2, 3, 4, 5, 6, 7] : [place % 7]) {
      const character = String.fromCharCode(token.charCodeAt(place) ^ (1 << bit));
      const other = token.slice(0, place) + character + token.slice(place + 1);
      // The last base64url character has unused bits: two encodings, one signature. Header and
      // payload are signed in their encoded form.
      const isSame =
        /[\w-]/.test(character) &&
        place >= start &&
        Buffer.from(other.slice(start), 'base64url').equals(signature);
      if (isSame) {
        same.push(other);
      } else if (/[\x20-\x7e\x80-\xff]/.test(character)) {
        changed.push({ fault: `bit ${bit} of character ${place}, now ${character}`, token: other });
      }
    }
  }
  return { changed, same };
}
