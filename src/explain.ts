import { ConfigurationError } from './config.js';
import { UnsafeDatabase } from './database/errors.js';
import { CannotListen } from './listening.js';

/** Why the service cannot start: a sentence where an operator can do something about it, the whole error where not. */
export function explain(error: unknown): unknown {
  const expected = [ConfigurationError, UnsafeDatabase, CannotListen].some((kind) => error instanceof kind);
  return expected ? (error as Error).message : error;
}
