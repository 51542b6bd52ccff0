import type { FastifyPluginAsync } from 'fastify';
import { codesByStatus } from '../errors/catalogue.js';
import { indexPage, PAGE_CSP, pageOf } from '../errors/pages.js';
import { NoQuery } from '../validation/schemas.js';

/**
 * The pages that the `type` of a problem leads to, for people: no token, no club, no database. They are no part of
 * the API, and stand in no document of it.
 *
 * Each code has a route of its own, so what is no code is a path that does not exist.
 */
export const problemPages: FastifyPluginAsync = async (app) => {
  const pages = new Map([['/problems', indexPage()]]);
  for (const code of codesByStatus) {
    pages.set(`/problems/${code}`, pageOf(code));
  }
  for (const [path, page] of pages) {
    app.get(path, { schema: { hide: true, querystring: NoQuery } }, async (_request, reply) =>
      reply
        .headers({
          'content-security-policy': PAGE_CSP,
          // The same for everybody, and until the next release.
          'cache-control': 'public, max-age=3600',
        })
        .type('text/html; charset=utf-8')
        .send(page),
    );
  }
};
