import type { Versioned } from './types.js';

/**
 * Returns the id and the version of an object that was read.
 *
 * @throws TypeError without a version: the request would overwrite the changes of others
 */
export function versionOf({ id, version }: Versioned): Versioned {
  if (typeof id !== 'string' || !Number.isInteger(version)) {
    throw new TypeError(
      'Pass the object that you have read, with its id and its version. Only delete accepts an id alone, as a string.',
    );
  }
  return { id, version };
}

/** Returns the id, and the version for If-Match; an id alone has none. */
export function deletionOf(target: Versioned | string): { id: string; ifVersion?: number } {
  if (typeof target === 'string') {
    return { id: target };
  }
  const { id, version } = versionOf(target);
  return { id, ifVersion: version };
}
