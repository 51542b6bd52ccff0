import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Json } from '../database/json.js';
import { Problem } from '../errors/problem.js';
import { invalidCursor } from '../errors/request.js';
import { readAboutMembers } from '../resource/members.js';
import { type Listed, pageOf, readPage, sendPage } from '../resource/pagination.js';
import type { Resource, RouteOptions } from '../resource/resource.js';
import { Named } from '../validation/schemas.js';
import * as errors from './errors.js';
import { eventOrders, listEvents, type UnknownAfter } from './queries.js';
import { EVENT_SORT, EventDto, EventListQuery } from './schemas.js';

const routes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { eventTypes }) => {
  const dto = EventDto(eventTypes);
  app.addSchema(dto);

  app.get(
    '/events',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'listEvents',
        summary: 'List who changed what in the club',
        description:
          'In pages: the header Link has the URL of the next page. With the `id` of the last event that you read as `after` ' +
          'you miss none. A Manager reads all events, a Member those about themself.',
        querystring: EventListQuery(eventTypes),
        errors: [invalidCursor, errors.eventsForgotten],
        ...pageOf(Named(dto)),
      },
    },
    async (request, reply) => {
      const { query } = request;
      const page = readPage(request, eventOrders, EVENT_SORT);
      const rows = await readAboutMembers(request, query.memberId, (readsAll) =>
        listEvents(readsAll ? query : { ...query, memberId: 'me' }, page),
      );
      if (query.after !== undefined) {
        requireAfter(rows[0]);
      }
      return sendPage(request, reply, page, rows as Json<Listed<EventDto>>[]);
    },
  );
};

/** @throws Problem `events_forgotten` when the first row of the list says that its `after` is unknown */
function requireAfter(first: Json<Listed<EventDto> | UnknownAfter> | undefined): void {
  const row = first?.parse();
  if (row?.id === null) {
    const { sequence } = row;
    throw new Problem(errors.eventsForgotten, sequence === null ? {} : { oldestSequence: sequence });
  }
}

/** The resource events. */
export const events: Resource = {
  tag: { name: 'Events', description: 'Who changed what, in the order in which it became visible.' },
  errors: Object.values(errors),
  eventTypes: [],
  routes,
};
