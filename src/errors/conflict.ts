/** Requests that are sent again or on a condition. */
import { TASK_ID } from '../examples.js';
import { CurrentVersion, defineError } from './problem.js';

export const idempotencyKeyInvalid = defineError({
  code: 'idempotency_key_invalid',
  status: 400,
  title: 'Idempotency key invalid',
  detail: 'Idempotency-Key must be sent once and hold 1 to 255 visible ASCII characters, such as a UUID.',
  meaning: 'The header `Idempotency-Key` is empty, too long, was sent twice or holds other characters.',
  fix: 'Make a new UUID for each thing you want to make, and send it with every attempt to make it.',
  example: { request: 'POST /api/tasks' },
});

export const idempotencyInProgress = defineError({
  code: 'idempotency_in_progress',
  status: 409,
  title: 'Request in progress',
  detail: 'A request with this Idempotency-Key is still being worked on. Send it again in a moment.',
  meaning: 'Your first attempt has not been answered yet, and the second does not wait for it.',
  fix: 'Wait a second and send the same request with the same key; it then gets the answer of the first.',
  example: { request: 'POST /api/tasks' },
});

export const preconditionFailed = defineError({
  code: 'precondition_failed',
  status: 412,
  title: 'Precondition failed',
  detail: ({ currentVersion }) =>
    'If-Match names another version than the current one. ' +
    (currentVersion === undefined
      ? 'Read it again.'
      : `Read it again; it is now at version ${currentVersion}.`),
  meaning: 'You asked to go on only if nobody had changed it (`If-Match`), and somebody has.',
  fix: 'Read it again, see what has changed, and send your change with the new `ETag` in `If-Match`.',
  members: { currentVersion: CurrentVersion },
  example: { request: `DELETE /api/tasks/${TASK_ID}`, members: { currentVersion: 3 } },
});

export const idempotencyKeyReused = defineError({
  code: 'idempotency_key_reused',
  status: 422,
  title: 'Idempotency key reused',
  detail: 'This Idempotency-Key belongs to another request of yours. Take a new key for a new request.',
  meaning:
    'Within 24 hours you sent the same key with another path or body. Answering with what it made would be wrong.',
  fix: 'Make a new key for each thing you want to make; keep one only to send the very same request again.',
  sqlState: 'ID001',
  example: { request: 'POST /api/tasks' },
});
