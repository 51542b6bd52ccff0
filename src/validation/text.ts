/** The kind of text of a field: one line, or a block with line feeds and tabs. */
export type TextKind = 'line' | 'block';

// The forbidden control characters (Unicode category Cc: C0, DEL and C1).
const CONTROL = { line: /\p{Cc}/u, block: /[^\P{Cc}\n\t]/u };

/**
 * Whether the text has no lone surrogates and no control characters (a block may contain line feeds and tabs). NUL, which
 * PostgreSQL cannot store, is a control character.
 */
export function isCleanText(text: string, kind: TextKind): boolean {
  return !CONTROL[kind].test(text) && !/\p{Cs}/u.test(text);
}

// Controls, format characters, blanks, and what Unicode lets a display ignore; the Braille pattern without dots looks like a blank.
const INVISIBLE = /^[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** Whether a text has at least one character that somebody can see. A name without one could not be found or clicked. */
export function isVisible(text: string): boolean {
  return !INVISIBLE.test(text);
}

/** An e-mail address: something without blanks on both sides of one `@`. */
export const EMAIL = /^[^\s@]+@[^\s@]+$/;

/** The first `length` code points of a text; a surrogate pair counts as one. */
export function cutText(text: string, length: number): string {
  return text.length <= length ? text : [...text].slice(0, length).join('');
}
