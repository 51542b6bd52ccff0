import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { sendRow, sendRows } from '../resource/json-response.js';
import type { Resource } from '../resource/resource.js';
import { onlyRow } from '../resource/rows.js';
import { Named, NoQuery } from '../validation/schemas.js';
import { findCurrentClub, listMyClubs } from './queries.js';
import { ClubDto } from './schemas.js';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.addSchema(ClubDto);

  app.get(
    '/clubs/me',
    {
      config: { policy: 'RequireViewer', tenant: false },
      schema: {
        operationId: 'listMyClubs',
        summary: 'List the clubs that your token names',
        description:
          'Ordered by name, without clubs that you have left. This is the only path below /api that needs no X-Tenant-Id: it returns the `id` to send there.',
        querystring: NoQuery,
        response: { 200: Type.Array(Named(ClubDto)) },
      },
    },
    async (request, reply) => {
      return sendRows(reply, await request.readDirectory(listMyClubs(request.identity.roles)));
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
    async (request, reply) => {
      return sendRow(reply, onlyRow(await request.read(findCurrentClub())));
    },
  );
};

/** The resource clubs. */
export const clubs: Resource = {
  tag: { name: 'Clubs', description: 'The tenants that you have a role in.' },
  errors: [],
  eventTypes: ['club.changed'],
  routes,
};
