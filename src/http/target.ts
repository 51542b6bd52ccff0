/** The path of a request target, without the query. The target may contain the origin (RFC 9112, 3.2.2). */
export function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] as string;
}
