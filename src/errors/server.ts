/** Errors that the caller did not cause. */
import { defineError } from './problem.js';

export const internalError = defineError({
  code: 'internal_error',
  status: 500,
  title: 'Internal error',
  detail: 'This is a bug of the service. Report it to the operator with the `requestId`.',
  meaning: 'The service failed in a way that it does not handle. Your request is not the cause.',
  fix: 'Send the `requestId` to the operator: the log of the service has the cause under it.',
  example: { request: 'GET /api/tasks' },
});

export const serviceUnavailable = defineError({
  code: 'service_unavailable',
  status: 503,
  title: 'Service unavailable',
  detail: 'The service cannot answer right now. Try again after the seconds in Retry-After.',
  meaning: 'The service is overloaded, or it cannot reach the database or the keys of the identity provider.',
  fix:
    'Send the request again after the seconds in `Retry-After`. A POST with an `Idempotency-Key` creates nothing twice; ' +
    'without a key, look first whether the object was created, if `detail` says that this is unknown.',
  example: { request: 'GET /api/tasks' },
});
