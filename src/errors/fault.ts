/** Faults that are not the caller's. */
import { defineError } from './problem.js';

export const internalError = defineError({
  code: 'internal_error',
  status: 500,
  title: 'Internal error',
  detail: 'This is our fault. Report it with the `requestId`.',
  meaning: 'Something happened that the service has no answer for.',
  fix: 'Tell the operator the `requestId`, under which the log has the cause. It is a bug, and not in your request.',
  example: { request: 'GET /api/tasks' },
});

export const serviceUnavailable = defineError({
  code: 'service_unavailable',
  status: 503,
  title: 'Service unavailable',
  detail: 'The service cannot answer right now. Try again after the time in Retry-After.',
  meaning:
    'The database, or the keys of the identity provider, cannot be reached, or there is more to do than hands to do it.',
  fix:
    'Send it again after as many seconds as `Retry-After` says. A POST with an `Idempotency-Key` makes nothing twice; ' +
    'without one, look first whether it was made.',
  example: { request: 'GET /api/tasks' },
});
