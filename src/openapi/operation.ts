import type { Policy } from '../auth/authorize.js';
import * as auth from '../errors/auth.js';
import * as conflict from '../errors/conflict.js';
import type { ErrorType } from '../errors/problem.js';
import * as message from '../errors/request.js';
import { serviceUnavailable } from '../errors/server.js';
import { testUserInvalid } from '../errors/test-user.js';

declare module 'fastify' {
  interface FastifySchema {
    /** The errors of this route only; `errorsOf` adds those of every route. */
    errors?: readonly ErrorType[];
    /** True for a route without a policy that is rate-limited. */
    isRateLimited?: true;
    /** The headers that the route reads, other than X-Tenant-Id. */
    requestHeaders?: readonly ('If-Match' | 'If-None-Match' | 'Idempotency-Key' | 'Club-Cells')[];
    /** The headers of a success, other than those of every response. */
    responseHeaders?: readonly (
      | 'ETag'
      | 'Location'
      | 'Link'
      | 'Idempotent-Replayed'
      | 'Content-Disposition'
      | 'Club-Cells-Missing'
    )[];
  }
}

/** The facts about a route that @fastify/swagger does not take from its schemas. */
export interface Operation {
  method: string;
  /** As Fastify writes it: `/api/tasks/:id`. */
  url: string;
  /** What problems show instead of its path; undefined if they show the path. */
  shownAs: string | undefined;
  /** Undefined for a route that needs no token. */
  policy: Policy | undefined;
  errors: readonly ErrorType[];
  requestHeaders: readonly string[];
  responseHeaders: readonly string[];
  /** Whether the route belongs to a club. */
  hasTenant: boolean;
  /** Whether the rate limit applies. */
  isRateLimited: boolean;
  /** Whether a test set-up may act as another member. */
  hasTestUser: boolean;
  /** The schema of the body; undefined for a route without one. */
  body: ObjectSchema | undefined;
  /** Whether a missing body is read as an empty object. */
  bodyIsOptional: boolean;
  /** The schema of the query string. */
  query: ObjectSchema | undefined;
}

/** The parts of the JSON Schema of an object that examples of errors use. */
export interface ObjectSchema {
  properties?: Record<string, unknown>;
  required?: string[];
}

/** Every error of an operation. */
export function errorsOf(operation: Operation): ErrorType[] {
  const { method, policy, errors, requestHeaders, hasTenant, hasTestUser, isRateLimited } = operation;
  const { body, query } = operation;
  const parsesBody = method !== 'GET';
  return [
    ...only(policy !== undefined, [auth.unauthenticated, auth.invalidToken]),
    ...only(hasTenant, [
      auth.tenantHeaderMissing,
      auth.tenantHeaderInvalid,
      auth.tenantForbidden,
      auth.membershipEnded,
    ]),
    ...only(hasTenant && policy !== 'RequireViewer', [auth.insufficientRole]),
    ...only(hasTestUser, [testUserInvalid]),
    ...only(isRateLimited, [auth.rateLimited]),
    ...only(parsesBody, [message.malformedJson, message.payloadTooLarge, message.unsupportedMediaType]),
    ...only(body !== undefined, [message.validationFailed]),
    ...only(query !== undefined, [message.invalidParameter]),
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
