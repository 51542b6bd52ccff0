/**
 * Characters that could hide text or control a terminal: control characters other than line feed, and invisible and
 * bidirectional ones. Object names in the database can contain them; they are shown as `\u{1b}`.
 */
const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\u200b-\u200d\u2060\ufeff]/gu;

/** The text with such characters escaped. */
export function printable(text: string): string {
  return text
    .replaceAll('\t', ' ')
    .replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
