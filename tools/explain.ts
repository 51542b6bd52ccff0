import { TenantNotFound } from '../src/database/errors.js';
import { ConnectionFailed } from '../src/deploy/client.js';
import { DeployError } from '../src/deploy/deploy.js';
import { ClubRefused } from '../src/deploy/provision-club.js';
import { explain as explainStart } from '../src/start.js';

/** Explains a failure of a command: one sentence if the user can act on it, otherwise the error. */
export function explain(error: unknown): unknown {
  if (error instanceof TenantNotFound) {
    return 'There is no such club in this database. make run loads the demo clubs.';
  }
  if (error instanceof ConnectionFailed) {
    return error.explain('MIGRATION_DATABASE_URL');
  }
  return error instanceof DeployError || error instanceof ClubRefused ? error.message : explainStart(error);
}
