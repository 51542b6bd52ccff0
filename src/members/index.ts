import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { answerPage, readPage } from '../http/page.js';
import { Problem } from '../problems/problem.js';
import { Named, NoQuery } from '../validation/schemas.js';
import { findMember, findMyself, listMembers, memberOrders } from './queries.js';
import { MemberDto, MemberListQuery, MemberParams } from './schemas.js';

export const members: FastifyPluginAsyncTypebox = async (app) => {
  app.addSchema(MemberDto);

  app.get(
    '/members',
    {
      config: { policy: 'RequireMember', problems: ['invalid_cursor'], sends: ['Link'] },
      schema: {
        operationId: 'listMembers',
        tags: ['Members'],
        summary: 'List the members of the club',
        querystring: MemberListQuery,
        response: { 200: Type.Array(Named(MemberDto)) },
      },
    },
    async (request, reply) => {
      const page = readPage(request, memberOrders, 'displayName');
      const rows = await request.transaction((tx) => listMembers(tx, request.query, page));
      return answerPage(request, reply, page, rows);
    },
  );

  app.get(
    '/members/me',
    {
      config: { policy: 'RequireViewer' },
      schema: {
        operationId: 'getMyMembership',
        tags: ['Members'],
        summary: 'Read your own membership',
        querystring: NoQuery,
        response: { 200: Named(MemberDto) },
      },
    },
    (request) => request.transaction(findMyself),
  );

  app.get(
    '/members/:id',
    {
      config: { policy: 'RequireMember', problems: ['member_not_found'] },
      schema: {
        operationId: 'getMember',
        tags: ['Members'],
        summary: 'Read a member',
        params: MemberParams,
        querystring: NoQuery,
        response: { 200: Named(MemberDto) },
      },
    },
    (request) =>
      request.transaction(async (tx) => {
        const member = await findMember(tx, request.params.id);
        if (member === undefined) {
          throw new Problem('member_not_found');
        }
        return member;
      }),
  );
};
