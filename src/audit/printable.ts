/**
 * Whoever may name an object in the database could hide text from a terminal with its name, or make it do things:
 * control characters, and those that turn the direction of writing, are shown as `\u{1b}`. Lines may break.
 */
const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\u200b-\u200d\u2060\ufeff]/gu;

/** The text, with nothing in it that a terminal would not show. */
export function printable(text: string): string {
  return text
    .replaceAll('\t', ' ')
    .replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
