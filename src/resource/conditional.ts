import { preconditionFailed } from '../errors/conflict.js';
import { Problem } from '../errors/problem.js';

/** The entity tag of a version (RFC 9110, section 8.8.3). */
export function etagOf(version: number): string {
  return `"${version}"`;
}

/**
 * Checks If-Match (RFC 9110, section 13.1.1): `*`, or a list of tags that must contain the current version. A weak tag
 * counts as its strong form, because proxies that compress make tags weak. Without the header every version matches.
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
