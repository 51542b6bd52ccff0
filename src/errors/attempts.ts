import { TASK_ID } from '../examples.js';
import type { Refusal } from './refusal.js';

/** Requests that are sent again, on a condition, or at a bad moment. */
export const attempts = {
  idempotency_key_invalid: {
    status: 400,
    title: 'Idempotency key invalid',
    detail: 'Idempotency-Key must be sent once and hold 1 to 255 visible ASCII characters, such as a UUID.',
    meaning: 'The header `Idempotency-Key` is empty, too long, was sent twice or holds other characters.',
    fix: 'Make a new UUID for each thing you want to make, and send it with every attempt to make it.',
    example: { request: 'POST /api/tasks' },
  },
  idempotency_in_progress: {
    status: 409,
    title: 'Request in progress',
    detail: 'A request with this Idempotency-Key is still being worked on. Send it again in a moment.',
    meaning: 'Your first attempt has not been answered yet, and the second does not wait for it.',
    fix: 'Wait a second and send the same request with the same key; it then gets the answer of the first.',
    example: { request: 'POST /api/tasks' },
  },
  precondition_failed: {
    status: 412,
    title: 'Precondition failed',
    detail: ({ currentVersion }) =>
      'If-Match names another version than the current one. ' +
      (currentVersion === undefined
        ? 'Read it again.'
        : `Read it again; it is now at version ${currentVersion}.`),
    meaning: 'You asked to go on only if nobody had changed it (`If-Match`), and somebody has.',
    fix: 'Read it again, see what has changed, and send your change with the new `ETag` in `If-Match`.',
    example: { request: `DELETE /api/tasks/${TASK_ID}`, extensions: { currentVersion: 3 } },
  },
  idempotency_key_reused: {
    status: 422,
    title: 'Idempotency key reused',
    detail: 'This Idempotency-Key belongs to another request of yours. Take a new key for a new request.',
    meaning:
      'Within 24 hours you sent the same key with another path or body. Answering with what it made would be wrong.',
    fix: 'Make a new key for each thing you want to make; keep one only to send the very same request again.',
    example: { request: 'POST /api/tasks' },
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    detail: 'This is our fault. Report it with the `requestId`.',
    meaning: 'Something happened that the service has no answer for.',
    fix: 'Tell the operator the `requestId`, under which the log has the cause. It is a bug, and not in your request.',
    example: { request: 'GET /api/tasks' },
  },
  service_unavailable: {
    status: 503,
    title: 'Service unavailable',
    detail: 'The service cannot answer right now. Try again after the time in Retry-After.',
    meaning:
      'The database, or the keys of the identity provider, cannot be reached, or there is more to do than hands to do it.',
    fix:
      'Send it again after as many seconds as `Retry-After` says. A POST with an `Idempotency-Key` makes nothing twice; ' +
      'without one, look first whether it was made.',
    example: { request: 'GET /api/tasks' },
  },
} satisfies Record<string, Refusal>;
