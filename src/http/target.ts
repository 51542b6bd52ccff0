/** The path of a request target, without the query. The target may contain the origin (RFC 9112, 3.2.2). */
export function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] as string;
}

/** Whether a path is that of a calendar, in any spelling. */
export function isCalendar(path: string): boolean {
  return /^[/.]*\/calendars\//i.test(decoded(path));
}

/** The path of a request target for a response. A path that may have the secret of a calendar is cut off before it. */
export function shownPathOf(target: string): string {
  const path = pathOf(target);
  return /\/calendars\//i.test(decoded(path)) ? '/calendars' : path;
}

/** Decodes letters and punctuation; what else is encoded stays, so that nothing is invalid. */
function decoded(path: string): string {
  return path.replaceAll(/%[2-7][\da-f]/gi, decodeURIComponent);
}
