import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { invalidCursor } from '../errors/request.js';
import { sendRow } from '../resource/json-response.js';
import { readPage, sendPage } from '../resource/pagination.js';
import type { Resource } from '../resource/resource.js';
import { foundRow, onlyRow } from '../resource/rows.js';
import { Named, NoQuery } from '../validation/schemas.js';
import { memberNotFound } from './errors.js';
import { findMember, findMyself, listMembers, memberOrders } from './queries.js';
import { MEMBER_SORT, MemberDto, MemberListQuery, MemberParams } from './schemas.js';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.addSchema(MemberDto);

  app.get(
    '/members',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'listMembers',
        summary: 'List the members of the club',
        description:
          'In pages: the header Link has the URL of the next page. Your role decides which contact data you see.',
        querystring: MemberListQuery,
        errors: [invalidCursor],
        responseHeaders: ['Link'],
        response: { 200: Type.Array(Named(MemberDto)) },
      },
    },
    async (request, reply) => {
      const page = readPage(request, memberOrders, MEMBER_SORT);
      return sendPage(request, reply, page, await request.read(listMembers(request.query, page)));
    },
  );

  app.get(
    '/members/me',
    {
      config: { policy: 'RequireViewer' },
      schema: {
        operationId: 'getMyMembership',
        summary: 'Read your own membership',
        description:
          'Your first request in a club that your role permits makes you a member of it. This request can be the first.',
        querystring: NoQuery,
        response: { 200: Named(MemberDto) },
      },
    },
    async (request, reply) => {
      return sendRow(reply, onlyRow(await request.read(findMyself())));
    },
  );

  app.get(
    '/members/:id',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'getMember',
        summary: 'Read a member',
        description:
          'Managers see the e-mail address, and Admins the `externalUserId`. You see both of yourself.',
        params: MemberParams,
        querystring: NoQuery,
        errors: [memberNotFound],
        response: { 200: Named(MemberDto) },
      },
    },
    async (request, reply) => {
      const found = await request.read(findMember(request.params.id));
      return sendRow(reply, foundRow(found, memberNotFound));
    },
  );
};

/** The resource members. */
export const members: Resource = {
  tag: { name: 'Members', description: 'People in a club. You become one with your first request there.' },
  errors: [memberNotFound],
  eventTypes: ['member.created', 'member.changed', 'member.erased'],
  routes,
};
