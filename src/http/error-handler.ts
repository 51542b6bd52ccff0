import { isIP } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { isStatementError, QUEUE_FULL } from '../database/errors.js';
import type { Catalogue } from '../errors/catalogue.js';
import { preconditionFailed } from '../errors/conflict.js';
import { internalError, serviceUnavailable } from '../errors/fault.js';
import { problemFromDatabase } from '../errors/from-database.js';
import { problemFromValidation } from '../errors/from-validation.js';
import { type ErrorType, Problem } from '../errors/problem.js';
import {
  invalidParameter,
  malformedJson,
  methodNotAllowed,
  payloadTooLarge,
  routeNotFound,
  unsupportedMediaType,
} from '../errors/request.js';
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
const byErrorCode: Record<string, ErrorType> = {
  FST_ERR_CTP_BODY_TOO_LARGE: payloadTooLarge,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: unsupportedMediaType,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: malformedJson,
  FST_ERR_CTP_INVALID_JSON_BODY: malformedJson,
  FST_ERR_BAD_URL: invalidParameter,
};

/** Other refusals of Fastify and its plugins, which have a status and no code of ours. */
const byStatus: Record<number, ErrorType> = {
  400: invalidParameter,
  404: routeNotFound,
  412: preconditionFailed,
  413: payloadTooLarge,
  415: unsupportedMediaType,
  503: serviceUnavailable,
};

/**
 * One way out for everything that is refused or fails: `application/problem+json`.
 *
 * What the caller can act on is said; what only an operator can act on is logged, and the caller gets the
 * request's id. Nothing of the database, the stack or the values in a query is in either.
 */
export const problems = plugin<{ catalogue: Catalogue }>(
  async (app, { catalogue }) => {
    app.decorateRequest('problem', null);

    app.setErrorHandler((error: FastifyError, request, reply) => {
      const problem = problemFromDatabase(error, catalogue) ?? problemOf(error);
      // What the service itself answers on purpose, such as that it is not ready, is in the line of the request. So is an
      // overload, to which a second line would add.
      const isExpected = error instanceof Problem || (error as Error) === QUEUE_FULL;
      if (problem.status >= 500 && !isExpected) {
        request.log.error({ ...logged(error), code: problem.code }, 'request failed');
      }
      return send(problem, request, reply);
    });

    app.setNotFoundHandler((request, reply) => send(new Problem(routeNotFound), request, reply));

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
          ? new Problem(routeNotFound)
          : new Problem(methodNotAllowed, {}, { headers: { allow: methods.join(', ') } });
      send(problem, request, reply);
    });
  },
  { name: 'problems', dependencies: ['methods'] },
);

/** What an error of the service's own, of Fastify or of its plugins means to the caller. */
function problemOf(error: FastifyError): Problem {
  if (error instanceof Problem) {
    return error;
  }
  if (error.validation !== undefined) {
    return problemFromValidation(error.validation, error.validationContext ?? 'body');
  }
  return new Problem(byErrorCode[error.code] ?? byStatus[error.statusCode ?? 500] ?? internalError);
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
  request.log.info(
    { method: request.method, route: null, status: 400, ip: isIP(request.ip) === 0 ? 'unknown' : request.ip },
    'request',
  );
  send(problemOf(error), request, reply);
}

function send(problem: Problem, request: FastifyRequest, reply: FastifyReply) {
  request.problem = problem;
  if (problem.type === serviceUnavailable) {
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
