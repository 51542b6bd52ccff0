import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Role } from '../auth/roles.js';
import { Named, NoQuery } from '../validation/schemas.js';
import { type ClubRow, findCurrentClub, listMyClubs } from './queries.js';
import { ClubDto } from './schemas.js';

export const clubs: FastifyPluginAsyncTypebox = async (app) => {
  app.addSchema(ClubDto);

  app.get(
    '/clubs/me',
    {
      config: { policy: 'RequireViewer' },
      schema: {
        operationId: 'listMyClubs',
        tags: ['Clubs'],
        summary: 'List the clubs that your token names',
        description:
          'In the order of their names. The one path that needs no club: take the `id` for X-Tenant-Id from here.',
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
        tags: ['Clubs'],
        summary: 'Read the club of X-Tenant-Id',
        description: 'With the role that your token gives you in it.',
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
