/** The path of what a request asks for, which may be written with its origin (RFC 9112, 3.2.2); without the query. */
export function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] as string;
}
