/** Errors of idempotency keys and preconditions. */
import { TASK_ID } from '../examples.js';
import { CurrentVersion, defineError } from './problem.js';

export const idempotencyKeyInvalid = defineError({
  code: 'idempotency_key_invalid',
  status: 400,
  title: 'Idempotency key invalid',
  detail:
    'Idempotency-Key must be sent once and contain 1 to 255 visible ASCII characters, with spaces only inside, such as a UUID.',
  meaning: 'The header `Idempotency-Key` is empty, too long, was sent twice or contains other characters.',
  fix: 'Generate a new UUID for each object that you want to create, and send it with every attempt to create it.',
  example: { request: 'POST /api/tasks' },
});

export const idempotencyInProgress = defineError({
  code: 'idempotency_in_progress',
  status: 409,
  title: 'Request in progress',
  detail: 'A request with this Idempotency-Key is still in progress. Send it again after a second.',
  meaning:
    'This request waited three seconds for your first request with the same key, which has no response yet.',
  fix: 'Wait a second and send the same request with the same key; it then gets the response of the first.',
  constraint: 'idempotency_key_in_use',
  example: { request: 'POST /api/tasks' },
});

export const preconditionFailed = defineError({
  code: 'precondition_failed',
  status: 412,
  title: 'Precondition failed',
  detail: ({ currentVersion }) =>
    currentVersion === undefined
      ? 'If-Match needs something that exists, and there is nothing. Send the request without If-Match to create it.'
      : `If-Match does not contain the current version. Read it again; its ETag is now "${currentVersion}", with the quotes.`,
  meaning:
    'You sent `If-Match`, and the version has changed since you read it, there is nothing, or the value is not an ' +
    '`ETag` with its quotes. Or you sent `If-None-Match`, and what it excludes exists.',
  fix:
    'Read it again, check what has changed, and send your change with the new `ETag` in `If-Match`, without `If-None-Match`. To ' +
    'create something, send no `If-Match`.',
  members: { currentVersion: CurrentVersion },
  sqlState: 'VE001',
  detailBySqlState: {
    VE002: ({ currentVersion }) =>
      `If-None-Match excludes what exists. Read it; to change it, send If-Match: "${currentVersion}" instead.`,
  },
  example: { request: `DELETE /api/tasks/${TASK_ID}`, members: { currentVersion: 3 } },
});

export const idempotencyKeyReused = defineError({
  code: 'idempotency_key_reused',
  status: 422,
  title: 'Idempotency key reused',
  detail: 'This Idempotency-Key belongs to another request of yours. Send a new key with a new request.',
  meaning:
    'Within 24 hours you sent the same key with another path or body. The response of that request would be wrong here.',
  fix: 'Generate a new key for each object that you want to create. Use a key again only to repeat the same request.',
  sqlState: 'ID001',
  example: { request: 'POST /api/tasks' },
});
