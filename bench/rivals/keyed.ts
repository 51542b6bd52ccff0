import { hash } from 'node:crypto';
import type { Statement, StoredResponse } from './statements.js';
import * as statements from './statements.js';

/** The first statement of a signup with an Idempotency-Key: no row for a new key, the stored response for a known one. */
export function claim(key: string, path: string): Statement {
  return statements.claimKey(key, hash('sha256', `POST ${path}\n{}`));
}

/**
 * The rest of the signup, in the same transaction.
 *
 * @param stored the rows of `claim`
 */
export async function signUpOnce(
  [stored]: StoredResponse[],
  query: <Row>(statement: Statement) => Promise<Row[]>,
  key: string,
  shiftId: string,
): Promise<StoredResponse> {
  if (stored !== undefined) {
    return stored;
  }
  const [signup] = await query(statements.signUp(shiftId));
  const created = {
    status: 201,
    location: `/api/shifts/${shiftId}/signup`,
    body: JSON.stringify(signup),
  };
  await query(statements.storeResponse(key, created));
  return created;
}
