import { preconditionFailed } from '../errors/conflict.js';
import { Problem } from '../errors/problem.js';

/** The entity tag of a version (RFC 9110, section 8.8.3). */
export function etagOf(version: number): string {
  return `"${version}"`;
}

/**
 * Holds a request to its If-Match (RFC 9110, section 13.1.1): `*`, or a list of tags of which one must be the
 * current version's. A weak tag counts as its strong form: it names a version, and proxies that compress weaken tags.
 * Without the header everything matches.
 *
 * @throws Problem `precondition_failed`
 */
export function requireMatch(ifMatch: string | undefined, version: number): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') {
    return;
  }
  const tags = ifMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (!tags.includes(etagOf(version))) {
    throw new Problem(preconditionFailed, { currentVersion: version });
  }
}
