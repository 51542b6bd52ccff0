import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Makes a Fastify hook of a synchronous function; what it throws is the error of the request. An async hook costs a promise
 * and a microtask per request: with a dozen hooks, a twentieth of the time of a list page.
 */
export function syncHook(hook: (request: FastifyRequest, reply: FastifyReply) => void) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    hook(request, reply);
    done();
  };
}
