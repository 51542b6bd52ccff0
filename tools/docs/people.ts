import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyPluginAsync } from 'fastify';
import plugin from 'fastify-plugin';
import { NoQuery } from '../../src/validation/schemas.js';
import { type Issuer, signToken } from '../issuer.js';
import { claimsOf, type DemoClub, demoClubs, demoPeople, demoRoles } from '../people.js';
import { root } from '../root.js';

/** A demo person in one of their clubs, as an option on the page. */
export interface Offer {
  label: string;
  clubId: string;
  token: string;
}

/** A script for browsers, which is not compiled. */
const SCRIPT = join(root, 'tools/docs/choose.js');
const TAG = '<script src="/docs/demo-people.js"></script>';

/**
 * A control on /docs to act as one of the demo people: it fills in their token and club. Only `make run` registers it,
 * because only the development issuer has a key to sign tokens.
 */
export function demoDocs(issuer: Issuer, audiences: string[]): FastifyPluginAsync {
  return plugin(
    async (app) => {
      const script = await readFile(SCRIPT, 'utf8');
      // Against DNS rebinding: a foreign page could resolve its host name to this machine and read the tokens.
      app.addHook('onRequest', async (request, reply) => {
        const isOurs = ['/docs/demo-people', '/docs/demo-people.js'].includes(request.routeOptions.url ?? '');
        if (isOurs && !/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(request.headers.host ?? '')) {
          return reply.code(403).type('text/plain').send('Open this page as localhost or 127.0.0.1.\n');
        }
      });
      const schema = { hide: true, querystring: NoQuery };

      app.get('/docs/demo-people.js', { schema }, async (_request, reply) =>
        reply.type('text/javascript; charset=utf-8').send(script),
      );
      // Signed for each request, so that the tokens have not expired when the page is opened.
      app.get('/docs/demo-people', { schema }, async () => offersOf(issuer, audiences));

      app.addHook('onSend', async ({ routeOptions }, _reply, payload) =>
        ['/docs', '/docs/'].includes(routeOptions.url ?? '') && typeof payload === 'string'
          ? payload.replace('</body>', `${TAG}\n</body>`)
          : payload,
      );
    },
    { name: 'demo-docs', dependencies: ['error-handler'] },
  );
}

async function offersOf(issuer: Issuer, audiences: string[]): Promise<Offer[]> {
  const offers = Object.entries(demoPeople).map(async ([subject, { name, roles }]) => {
    const token = await signToken(issuer, audiences, claimsOf(subject, demoRoles(subject)));
    return Object.entries(roles).map(([slug, role]) => {
      const club = demoClubs[slug as DemoClub];
      return { label: `${name}: ${role} of ${club.name}`, clubId: club.id, token };
    });
  });
  return (await Promise.all(offers)).flat();
}
