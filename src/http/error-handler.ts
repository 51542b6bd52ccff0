import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { isStatementError, QueueFull } from '../database/errors.js';
import type { Catalogue } from '../errors/catalogue.js';
import { problemFromDatabase } from '../errors/from-database.js';
import { problemFromValidation } from '../errors/from-validation.js';
import { type ErrorType, Problem } from '../errors/problem.js';
import { invalidParameter, malformedJson, payloadTooLarge, unsupportedMediaType } from '../errors/request.js';
import { internalError, serviceUnavailable } from '../errors/server.js';
import { discardingRest } from './early-response.js';
import { addressOf, logRequest } from './log-line.js';
import { headersWithoutHooks } from './response-headers.js';
import { type SecretPaths, secretPathsOf, shownPathOf } from './target.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The problem that was sent as the response; null when none was. */
    problem: Problem | null;
  }
}

/** The value of Retry-After in a 503, in seconds. */
const RETRY_AFTER_S = '1';

/** Errors of Fastify and its plugins by their status. */
const byStatus: Record<number, ErrorType> = {
  400: invalidParameter,
  413: payloadTooLarge,
  415: unsupportedMediaType,
};
/** The body is shorter than its Content-Length; another 400 than `byStatus` has. */
const INCOMPLETE_BODY = 'FST_ERR_CTP_INVALID_CONTENT_LENGTH';
/** The path cannot be decoded. */
const BROKEN_PATH = 'FST_ERR_BAD_URL';

/**
 * Sends every error as `application/problem+json`.
 *
 * The response has what the caller can act on. What only an operator can act on is in the log, under the id of the request.
 * Neither has messages of the database or values of a query.
 */
export const errorHandler = plugin<{ catalogue: Catalogue; secretPaths?: readonly SecretPaths[] }>(
  async (app, { catalogue, secretPaths = [] }) => {
    app.decorateRequest('problem', null);

    app.setErrorHandler((error: FastifyError, request, reply) => {
      const problem = problemFromDatabase(error, catalogue) ?? problemOf(error);
      // The access log of the public port has intended errors, such as "not ready", and overloads; a second line would add
      // load. On the metrics port they are not logged: `detail` says why.
      const isExpected = error instanceof Problem || error instanceof QueueFull;
      if (problem.status >= 500 && !isExpected) {
        request.log.error({ ...logged(error), code: problem.code }, 'request failed');
      }
      return reply.send(render(problem, reply, secretPaths));
    });
  },
  { name: 'error-handler' },
);

/** The problem for an error of the service, Fastify or its plugins. */
function problemOf(error: FastifyError): Problem {
  if (error instanceof Problem) {
    return error;
  }
  if (error.validation !== undefined) {
    return problemFromValidation(error.validation, error.validationContext ?? 'body');
  }
  const { code, statusCode = 500 } = error;
  return new Problem(code === INCOMPLETE_BODY ? malformedJson : (byStatus[statusCode] ?? internalError));
}

/** Responds to requests that cannot be routed, such as one whose path cannot be decoded. */
export function handleBrokenRequests(secretPaths: readonly SecretPaths[]) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    // Fastify runs no hook for such a request.
    reply.headers(headersWithoutHooks(request.id));
    if (request.server.isDraining) {
      reply.header('connection', 'close');
    }
    const problem = error.code === BROKEN_PATH ? brokenPath(request.url, secretPaths) : problemOf(error);
    const { method, log } = request;
    logRequest(log, { method, route: null, status: problem.status, ip: addressOf(request) }, problem);
    reply.send(discardingRest(render(problem, reply, secretPaths), request, reply));
  };
}

function brokenPath(url: string, secretPaths: readonly SecretPaths[]): Problem {
  const { notFound } = secretPathsOf(url, secretPaths) ?? {};
  return notFound === undefined
    ? new Problem(invalidParameter, {
        detail: 'The path is not percent-encoded UTF-8: %25 is a percent sign.',
      })
    : new Problem(notFound);
}

/** Sets status and headers of a problem, and returns its body: as bytes, because Fastify adds a charset to the type of a text. */
function render(problem: Problem, reply: FastifyReply, secretPaths: readonly SecretPaths[]): Buffer {
  const { request } = reply;
  request.problem = problem;
  if (problem.type === serviceUnavailable) {
    reply.header('retry-after', RETRY_AFTER_S);
  }
  reply.code(problem.status).headers(problem.headers).type('application/problem+json');
  return Buffer.from(JSON.stringify(problem.toBody(shownPathOf(request.url, secretPaths), request.id)));
}

/** The log fields of an error. Messages of PostgreSQL can contain values of a request, so only its codes are logged. */
function logged(error: Error): Record<string, unknown> {
  if (isStatementError(error)) {
    const { code, routine, where = '', constraint_name, table_name } = error;
    // Other lines can contain values, such as those about invalid JSON.
    const functions = where.split('\n').filter((line) => /^(PL\/pgSQL|SQL)/.test(line));
    return {
      sqlstate: code,
      routine,
      constraint: constraint_name,
      table: table_name,
      where: functions.join('\n') || undefined,
    };
  }
  return { error: error.name, message: error.message, cause: messageOf(error.cause), stack: error.stack };
}

function messageOf(cause: unknown): string | undefined {
  return cause instanceof Error ? (messageOf(cause.cause) ?? cause.message) : undefined;
}
