import { ClubRefused } from '../clubs/provision.js';
import { ConfigurationError } from '../config.js';
import { NoEntry, UnsafeRole } from '../database/failures.js';
import { DeployError } from '../deploy/deploy.js';

/** What a command says of a failure: one sentence where the user can do something, the whole error where not. */
export function explain(error: unknown): unknown {
  const { code, port } = error as { code?: string; port?: number };
  if (code === 'EADDRINUSE') {
    return `The port ${port} is taken: is the service running already? Stop it, or set PORT.`;
  }
  if (error instanceof NoEntry) {
    return 'There is no such club in this database. make run loads the demo clubs.';
  }
  const expected = [ConfigurationError, DeployError, UnsafeRole, ClubRefused].some(
    (kind) => error instanceof kind,
  );
  return expected ? (error as Error).message : error;
}
