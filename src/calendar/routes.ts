import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { tenantOf } from '../auth/tenant.js';
import { Problem } from '../errors/problem.js';
import { memberNotFound } from '../members/errors.js';
import { sendRow } from '../resource/json-response.js';
import { sendPut } from '../resource/put.js';
import type { Resource, RouteOptions } from '../resource/resource.js';
import { foundRow } from '../resource/rows.js';
import { Named, NoQuery } from '../validation/schemas.js';
import { calendarNotFound } from './errors.js';
import { deleteLinkOf, deleteOwnLink, findLink, replaceLink } from './queries.js';
import { CalendarLinkDto, CalendarLinkParams } from './schemas.js';
import { createSecret, hashOf } from './secret.js';

const routes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { publicUrl }) => {
  app.addSchema(CalendarLinkDto);

  app.put(
    '/members/me/calendar',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'createCalendarLink',
        summary: 'Create the link to your calendar',
        description:
          'Subscribe to its URL in any calendar program: it shows the shifts that you are signed up for. The URL is in this response only. A link that you had ends at once.',
        querystring: NoQuery,
        responseHeaders: ['Location'],
        response: { 200: Named(CalendarLinkDto), 201: Named(CalendarLinkDto) },
      },
    },
    async (request, reply) => {
      const secret = createSecret();
      const link = await request.transaction((tx) => replaceLink(tx, hashOf(secret)));
      const url = `${publicUrl}/calendars/${tenantOf(request).id}/${secret}.ics`;
      return sendPut<CalendarLinkDto>(reply.header('cache-control', 'no-store'), link.with({ url }));
    },
  );

  app.get(
    '/members/me/calendar',
    {
      config: { policy: 'RequireViewer' },
      schema: {
        operationId: 'getCalendarLink',
        summary: 'Read when the link to your calendar ends',
        description: 'Without its URL, which only its creation shows.',
        querystring: NoQuery,
        errors: [calendarNotFound],
        response: { 200: Named(CalendarLinkDto) },
      },
    },
    async (request, reply) => sendRow(reply, foundRow(await request.read(findLink()), calendarNotFound)),
  );

  app.delete(
    '/members/me/calendar',
    {
      config: { policy: 'RequireViewer' },
      schema: {
        operationId: 'deleteCalendarLink',
        summary: 'Delete the link to your calendar',
        description: 'Its URL ends at once.',
        querystring: NoQuery,
        errors: [calendarNotFound],
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      if (!(await request.transaction(deleteOwnLink))) {
        throw new Problem(calendarNotFound);
      }
      return reply.code(204).send(null);
    },
  );

  app.delete(
    '/members/:id/calendar',
    {
      config: { policy: 'RequireAdmin' },
      schema: {
        operationId: 'deleteCalendarLinkOf',
        summary: 'Delete the link to the calendar of a member',
        description:
          'Its URL ends at once. A link outlives the role of its member, so delete it when somebody leaves the club.',
        params: CalendarLinkParams,
        querystring: NoQuery,
        errors: [memberNotFound, calendarNotFound],
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const isDeleted = await request.transaction((tx) => deleteLinkOf(tx, request.params.id));
      if (!isDeleted) {
        throw new Problem(isDeleted === undefined ? memberNotFound : calendarNotFound);
      }
      return reply.code(204).send(null);
    },
  );
};

/** The resource calendar: the link by which calendar programs read a member's shifts. */
export const calendar: Resource = {
  tag: { name: 'Calendar', description: 'A member’s shifts in their calendar program.' },
  errors: [calendarNotFound],
  eventTypes: [],
  routes,
};
