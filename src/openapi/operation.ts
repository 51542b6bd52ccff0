import type { Policy } from '../auth/authorize.js';
import type { Code } from '../errors/catalogue.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The refusals of this route alone; those of every route are added. */
    problems?: readonly Code[];
    /** Headers beside the tenant's that the route looks at. */
    reads?: readonly ('If-Match' | 'Idempotency-Key')[];
    /** Headers that a success carries beside those of every answer. */
    sends?: readonly ('ETag' | 'Location' | 'Link' | 'Idempotent-Replayed')[];
  }
}

/** What the document says about a route beyond its schemas. */
export interface Operation {
  method: string;
  /** As Fastify writes it: `/api/tasks/:id`. */
  url: string;
  /** Undefined where nobody needs a token. */
  policy: Policy | undefined;
  problems: readonly Code[];
  reads: readonly string[];
  sends: readonly string[];
  /** Whether it belongs to a club. */
  hasTenant: boolean;
  /** Whether the requests of a caller are counted, and refused beyond a number. */
  isRateLimited: boolean;
  /** Whether a test set-up may act as another member. */
  hasTestUser: boolean;
  takesBody: boolean;
  /** Whether no body counts as an empty one. */
  bodyIsOptional: boolean;
}

/** Every code that an operation can be refused with. */
export function codesOf(operation: Operation): Code[] {
  const { method, policy, problems, reads, hasTenant, hasTestUser, isRateLimited, takesBody } = operation;
  const parsesBody = method !== 'GET';
  return [
    ...only(policy !== undefined, ['unauthenticated', 'invalid_token']),
    ...only(hasTenant, ['tenant_header_missing', 'tenant_header_invalid', 'tenant_forbidden']),
    ...only(hasTenant && policy !== 'RequireViewer', ['insufficient_role']),
    ...only(hasTestUser, ['test_user_invalid']),
    ...only(isRateLimited, ['rate_limited']),
    ...only(parsesBody, ['malformed_json', 'payload_too_large', 'unsupported_media_type']),
    ...only(takesBody, ['validation_failed']),
    'invalid_parameter',
    ...only(reads.includes('Idempotency-Key'), [
      'idempotency_key_invalid',
      'idempotency_in_progress',
      'idempotency_key_reused',
    ]),
    ...problems,
    ...only(policy !== undefined, ['service_unavailable']),
  ];
}

function only(condition: boolean, codes: Code[]): Code[] {
  return condition ? codes : [];
}
