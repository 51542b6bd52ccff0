import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { invalidCursor } from '../errors/request.js';
import { readAboutMembers } from '../resource/members.js';
import { pageOf, readPage, sendPage } from '../resource/pagination.js';
import type { Resource } from '../resource/resource.js';
import { Named } from '../validation/schemas.js';
import { listHours, nameOrders } from './queries.js';
import { HoursDto, HoursQuery, NAME_SORT } from './schemas.js';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.addSchema(HoursDto);

  app.get(
    '/hours',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'listHours',
        summary: 'List the hours of members',
        description:
          'In pages: the header Link has the URL of the next page. Every member has a row; one who has left or was erased only if they attended. A Manager reads all, a Member their own.',
        querystring: HoursQuery,
        errors: [invalidCursor],
        ...pageOf(Named(HoursDto)),
      },
    },
    async (request, reply) => {
      const { query } = request;
      const page = readPage(request, nameOrders, NAME_SORT);
      const rows = await readAboutMembers(request, query.memberId, (readsAll) =>
        listHours(readsAll ? query : { ...query, memberId: 'me' }, page),
      );
      return sendPage(request, reply, page, rows);
    },
  );
};

/** The resource hours: what members have attended, in sum. */
export const hours: Resource = {
  tag: { name: 'Hours', description: 'How long members were at shifts.' },
  errors: [],
  eventTypes: [],
  routes,
};
