import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { Problem } from '../problems/problem.js';
import { IdParams, Named, NoQuery } from '../validation/schemas.js';
import { findMember, findMyself, listMembers } from './queries.js';
import { MemberDto } from './schemas.js';

export const members: FastifyPluginAsyncTypebox = async (app) => {
  app.addSchema(MemberDto);

  app.get(
    '/members',
    {
      config: { policy: 'RequireMember' },
      schema: { querystring: NoQuery, response: { 200: Type.Array(Named(MemberDto)) } },
    },
    (request) => request.transaction(listMembers),
  );

  app.get(
    '/members/me',
    {
      config: { policy: 'RequireViewer' },
      schema: { querystring: NoQuery, response: { 200: Named(MemberDto) } },
    },
    (request) => request.transaction(findMyself),
  );

  app.get(
    '/members/:id',
    {
      config: { policy: 'RequireMember' },
      schema: { params: IdParams, querystring: NoQuery, response: { 200: Named(MemberDto) } },
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
