/** What text a field takes: one line of it, or a block with line feeds and tabs. */
export type TextKind = 'line' | 'block';

// Control characters (Unicode's category Cc: C0, DEL and C1), less what a block may hold.
const CONTROL = { line: /\p{Cc}/u, block: /[^\P{Cc}\n\t]/u };

/**
 * Whether the text can be stored and given back as it is: no lone surrogates, and no control characters
 * (in a block, line feed and tab are allowed). NUL, which PostgreSQL cannot store, is one of them.
 */
export function isCleanText(text: string, kind: TextKind): boolean {
  return !CONTROL[kind].test(text) && !/\p{Cs}/u.test(text);
}

/** The first `length` code points of a text; a surrogate pair is one. */
export function cutText(text: string, length: number): string {
  return text.length <= length ? text : [...text].slice(0, length).join('');
}
