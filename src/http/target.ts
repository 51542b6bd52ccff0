import type { ErrorType } from '../errors/problem.js';

/** Paths below a prefix that contain a secret. */
export interface SecretPaths {
  /** In lower case, from slash to slash. */
  prefix: string;
  /** What problems show of such a path. No log has paths. */
  shownAs: string;
  /** The error of such a path that no route has, or that cannot be decoded. */
  notFound: ErrorType;
}

/** The path of a request target, without the query. The target may contain the origin (RFC 9112, 3.2.2). */
export function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] as string;
}

/** The secret paths to which a request target belongs in any spelling: encoded, in capitals, or after more slashes and dots. */
export function secretPathsOf(target: string, all: readonly SecretPaths[]): SecretPaths | undefined {
  const path = decoded(pathOf(target));
  return all.find(({ prefix }) => path.startsWith(prefix, path.search(/[^/.]/) - 1));
}

/** The path of a request target for a response. A path that may contain a secret anywhere is replaced. */
export function shownPathOf(target: string, all: readonly SecretPaths[]): string {
  const path = pathOf(target);
  return all.find(({ prefix }) => decoded(path).includes(prefix))?.shownAs ?? path;
}

/**
 * Decodes letters and punctuation, in lower case, even if the percent sign is encoded once or more; what else is encoded stays, so that
 * nothing is invalid.
 */
function decoded(path: string): string {
  return path
    .replaceAll(/%(?:25)*([2-7][\da-f])/gi, (_, code) => decodeURIComponent(`%${code}`))
    .toLowerCase();
}
