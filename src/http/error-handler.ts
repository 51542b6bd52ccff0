import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { isStatementError, QUEUE_FULL } from '../database/errors.js';
import type { Code } from '../errors/catalogue.js';
import { problemFromDatabase } from '../errors/from-database.js';
import { problemFromValidation } from '../errors/from-validation.js';
import { Problem } from '../errors/problem.js';
import { PREFLIGHT_URL } from './cors.js';
import { SECURITY_HEADERS } from './security-headers.js';
import { pathOf } from './target.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The problem that is its answer; null while there is none. */
    problem: Problem | null;
  }
}

/** When whoever was refused for a while may come again, in seconds. */
export const RETRY_AFTER_S = '1';

/** Fastify's own refusals. */
const byErrorCode: Record<string, Code> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_json',
  FST_ERR_CTP_INVALID_JSON_BODY: 'malformed_json',
  FST_ERR_BAD_URL: 'invalid_parameter',
};

/** Other refusals of Fastify and its plugins, which have a status and no code of ours. */
const byStatus: Record<number, Code> = {
  400: 'invalid_parameter',
  404: 'route_not_found',
  412: 'precondition_failed',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  503: 'service_unavailable',
};

/**
 * One way out for everything that is refused or fails: `application/problem+json`.
 *
 * What the caller can act on is said; what only an operator can act on is logged, and the caller gets the
 * request's id. Nothing of the database, the stack or the values in a query is in either.
 */
export const problems = plugin(
  async (app) => {
    app.decorateRequest('problem', null);

    app.setErrorHandler((error: FastifyError, request, reply) => {
      const problem = problemOf(error);
      // An overload is no fault to look for; the line of the request says it, and a second one would add to it.
      if (problem.status >= 500 && (error as Error) !== QUEUE_FULL) {
        request.log.error({ ...logged(error), code: problem.code }, 'request failed');
      }
      return send(problem, request, reply);
    });

    app.setNotFoundHandler((request, reply) => send(new Problem('route_not_found'), request, reply));

    // Before a body is read: what there is to say of a path or a method does not depend on it.
    app.addHook('onRequest', (request, reply, done) => {
      // The router takes nothing for an id as well: /api/tasks/ is no task, and nowhere.
      const { url } = request.routeOptions;
      if (!request.is404 && url !== PREFLIGHT_URL && (request.params as { id?: string }).id !== '') {
        done();
        return;
      }
      const methods = app.methodsOf(request.url);
      const problem =
        methods.length === 0
          ? new Problem('route_not_found')
          : new Problem('method_not_allowed', {}, { allow: methods.join(', ') });
      send(problem, request, reply);
    });
  },
  { name: 'problems', dependencies: ['methods'] },
);

function problemOf(error: FastifyError): Problem {
  if (error instanceof Problem) {
    return error;
  }
  if (error.validation !== undefined) {
    return problemFromValidation(error.validation, error.validationContext ?? 'body');
  }
  const code = byErrorCode[error.code] ?? byStatus[error.statusCode ?? 500];
  return problemFromDatabase(error) ?? new Problem(code ?? 'internal_error');
}

/** A request so broken that it reaches no route, such as a path that cannot be decoded. */
export function answerBrokenRequest(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  // No hook runs for it.
  reply.headers({
    ...SECURITY_HEADERS,
    'x-request-id': request.id,
    'cache-control': 'private, no-cache',
    vary: 'Authorization, X-Tenant-Id',
  });
  if (request.server.isDraining) {
    reply.header('connection', 'close');
  }
  request.log.info({ method: request.method, route: null, status: 400, ip: request.ip }, 'request');
  send(problemOf(error), request, reply);
}

function send(problem: Problem, request: FastifyRequest, reply: FastifyReply) {
  request.problem = problem;
  if (problem.code === 'service_unavailable') {
    reply.header('retry-after', RETRY_AFTER_S);
  }
  return reply
    .code(problem.status)
    .headers(problem.headers)
    .type('application/problem+json')
    .serializer((body: unknown) => JSON.stringify(body))
    .send(problem.toBody(pathOf(request.url), request.id));
}

/** Enough to find the cause; the messages of PostgreSQL can hold values of a request, so only its codes. */
function logged(error: Error): Record<string, unknown> {
  if (isStatementError(error)) {
    const { code, routine, where, constraint_name, table_name } = error;
    return { sqlstate: code, routine, constraint: constraint_name, table: table_name, where };
  }
  return { error: error.name, message: error.message, cause: messageOf(error.cause), stack: error.stack };
}

function messageOf(cause: unknown): string | undefined {
  return cause instanceof Error ? (messageOf(cause.cause) ?? cause.message) : undefined;
}
