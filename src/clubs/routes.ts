import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { throttle } from '../logger.js';
import { bodyOf, send, sendRow, sendRows } from '../resource/json-response.js';
import type { Resource, RouteOptions } from '../resource/resource.js';
import { onlyRow } from '../resource/rows.js';
import { Named, NoQuery } from '../validation/schemas.js';
import { mergeClubs, OtherCells, type OtherClubs } from './cells.js';
import { findCurrentClub, listMyClubs } from './queries.js';
import { ClubDto } from './schemas.js';

const routes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { cells }) => {
  app.addSchema(ClubDto);

  const otherCells = cells.size > 0 ? new OtherCells(cells) : undefined;
  const logMissing = throttle<OtherClubs['missing']>((requests, missing) =>
    app.log.warn(
      { requests, missing },
      'cells did not list their clubs: GET /api/clubs/me gives their names in Club-Cells-Missing',
    ),
  );

  app.get(
    '/clubs/me',
    {
      config: { policy: 'RequireViewer', tenant: false },
      schema: {
        operationId: 'listMyClubs',
        summary: 'List the clubs that your token names',
        description:
          'Ordered by name, without clubs that you have left. This is the only path below /api that needs no X-Tenant-Id: it returns the `id` to send there. Where the service runs in several cells, the clubs of all are listed.',
        querystring: NoQuery,
        requestHeaders: ['Club-Cells'],
        responseHeaders: ['Club-Cells-Missing'],
        response: { 200: Type.Array(Named(ClubDto)) },
      },
    },
    async (request, reply) => {
      const reading = request.readDirectory(listMyClubs(request.identity.roles));
      const { authorization = '', 'club-cells': clubCells } = request.headers;
      if (otherCells === undefined || clubCells !== undefined) {
        return sendRows(reply, await reading);
      }
      const [rows, { clubs, missing }] = await Promise.all([reading, otherCells.listClubs(authorization)]);
      const names = Object.keys(missing).sort();
      if (names.length > 0) {
        reply.header('club-cells-missing', names.join(', '));
        logMissing(missing);
      }
      const own: ClubDto[] = JSON.parse(bodyOf(reply, rows));
      return send(reply, JSON.stringify(mergeClubs(own, clubs)));
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
