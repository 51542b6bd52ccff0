import type { Policy } from '../auth/authorize.js';
import * as auth from '../errors/auth.js';
import * as conflict from '../errors/conflict.js';
import { serviceUnavailable } from '../errors/fault.js';
import type { ErrorType } from '../errors/problem.js';
import * as message from '../errors/request.js';

declare module 'fastify' {
  interface FastifySchema {
    /** The errors of this route alone; those of every route are added. */
    errors?: readonly ErrorType[];
    /** Headers beside the tenant's that the route reads. */
    requestHeaders?: readonly ('If-Match' | 'Idempotency-Key')[];
    /** Headers that a success carries beside those of every answer. */
    responseHeaders?: readonly ('ETag' | 'Location' | 'Link' | 'Idempotent-Replayed')[];
  }
}

/** What the document says about a route beyond what the generator takes from its schemas. */
export interface Operation {
  method: string;
  /** As Fastify writes it: `/api/tasks/:id`. */
  url: string;
  /** Undefined where nobody needs a token. */
  policy: Policy | undefined;
  errors: readonly ErrorType[];
  requestHeaders: readonly string[];
  responseHeaders: readonly string[];
  /** Whether it belongs to a club. */
  hasTenant: boolean;
  /** Whether the requests of a caller are counted, and refused beyond a number. */
  isRateLimited: boolean;
  /** Whether a test set-up may act as another member. */
  hasTestUser: boolean;
  /** The schema of the body; undefined where none is read. */
  body: ObjectSchema | undefined;
  /** Whether no body counts as an empty one. */
  bodyIsOptional: boolean;
  /** The schema of the query string. */
  query: ObjectSchema | undefined;
}

/** As much of the JSON Schema of an object as examples of errors are made of. */
export interface ObjectSchema {
  properties?: Record<string, unknown>;
  required?: string[];
}

/** Every error that an operation can be answered with. */
export function errorsOf(operation: Operation): ErrorType[] {
  const { method, policy, errors, requestHeaders, hasTenant, hasTestUser, isRateLimited, body } = operation;
  const parsesBody = method !== 'GET';
  return [
    ...only(policy !== undefined, [auth.unauthenticated, auth.invalidToken]),
    ...only(hasTenant, [auth.tenantHeaderMissing, auth.tenantHeaderInvalid, auth.tenantForbidden]),
    ...only(hasTenant && policy !== 'RequireViewer', [auth.insufficientRole]),
    ...only(hasTestUser, [auth.testUserInvalid]),
    ...only(isRateLimited, [auth.rateLimited]),
    ...only(parsesBody, [message.malformedJson, message.payloadTooLarge, message.unsupportedMediaType]),
    ...only(body !== undefined, [message.validationFailed]),
    message.invalidParameter,
    ...only(requestHeaders.includes('Idempotency-Key'), [
      conflict.idempotencyKeyInvalid,
      conflict.idempotencyInProgress,
      conflict.idempotencyKeyReused,
    ]),
    ...errors,
    ...only(policy !== undefined, [serviceUnavailable]),
  ];
}

function only(condition: boolean, types: ErrorType[]): ErrorType[] {
  return condition ? types : [];
}
