import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Resource } from '../http/resource.js';
import type { Role } from '../roles.js';
import { Named, NoQuery } from '../validation/schemas.js';
import { type ClubRow, findCurrentClub, listMyClubs } from './queries.js';
import { ClubDto } from './schemas.js';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.addSchema(ClubDto);

  app.get(
    '/clubs/me',
    {
      config: { policy: 'RequireViewer' },
      schema: {
        operationId: 'listMyClubs',
        summary: 'List the clubs that your token names',
        description:
          'Ordered by name. This is the only path that needs no X-Tenant-Id: it returns the `id` to send there.',
        querystring: NoQuery,
        response: { 200: Type.Array(Named(ClubDto)) },
      },
    },
    async (request) => {
      const found = await request.readDirectory(listMyClubs());
      return found.map((club) => ({ ...club, role: request.identity.roles.get(club.id) as Role }));
    },
  );

  app.get(
    '/clubs/current',
    {
      config: { policy: 'RequireViewer' },
      schema: {
        operationId: 'getCurrentClub',
        summary: 'Read the club of X-Tenant-Id',
        description: 'With your role in it, from your token.',
        querystring: NoQuery,
        response: { 200: Named(ClubDto) },
      },
    },
    async (request) => {
      const [club] = await request.read(findCurrentClub(), 'shared');
      return { ...(club as ClubRow), role: request.tenant?.role as Role };
    },
  );
};

/** The resource clubs. */
export const clubs: Resource = {
  tag: { name: 'Clubs', description: 'The tenants that you have a role in.' },
  errors: [],
  routes,
};
