import { TenantNotFound } from '../src/database/errors.js';
import { ConnectionFailed } from '../src/deploy/client.js';
import { DeployError } from '../src/deploy/deploy.js';
import { ClubRefused } from '../src/deploy/provision-club.js';
import { explain as explainStart } from '../src/start.js';

/**
 * Explains a failure of a command: one sentence if the user can act on it, otherwise the error.
 *
 * @param variable the variable with the URL of the database
 */
export function explain(error: unknown, variable = 'MIGRATION_DATABASE_URL'): unknown {
  if (error instanceof TenantNotFound) {
    return 'There is no such club in this database. make run loads the demo clubs.';
  }
  if (error instanceof ConnectionFailed) {
    return error.explain(variable);
  }
  return error instanceof DeployError || error instanceof ClubRefused ? error.message : explainStart(error);
}
