import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { invalidCursor } from '../errors/request.js';
import { readPage, sendPage } from '../resource/pagination.js';
import type { Resource } from '../resource/resource.js';
import { Named } from '../validation/schemas.js';
import { listSignups, signupOrders } from './queries.js';
import { SIGNUP_SORT, SignupListDto, SignupListQuery } from './schemas.js';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.addSchema(SignupListDto);

  app.get(
    '/signups',
    {
      config: { policy: 'RequireViewer' },
      schema: {
        operationId: 'listSignups',
        summary: 'List who is signed up for what',
        description: 'In pages: the header Link has the URL of the next page. By the start of the shift.',
        querystring: SignupListQuery,
        errors: [invalidCursor],
        responseHeaders: ['Link'],
        response: { 200: Type.Array(Named(SignupListDto)) },
      },
    },
    async (request, reply) => {
      const page = readPage(request, signupOrders, SIGNUP_SORT);
      return sendPage(request, reply, page, await request.read(listSignups(request.query, page)));
    },
  );
};

/** The resource signups: the members on all shifts. A shift has the operations that change them. */
export const signups: Resource = {
  tag: { name: 'Signups', description: 'Who is signed up for what: the signups of all shifts.' },
  errors: [],
  eventTypes: [],
  routes,
};
