import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply } from 'fastify';
import { AttendanceDto } from '../attendance/schemas.js';
import type { Json } from '../database/json.js';
import { EventDto } from '../events/schemas.js';
import { memberNotFound } from '../members/errors.js';
import { MemberDto } from '../members/schemas.js';
import { sendRow } from '../resource/json-response.js';
import type { Resource, RouteOptions } from '../resource/resource.js';
import { foundRow, onlyRow } from '../resource/rows.js';
import { SignupListDto } from '../signups/schemas.js';
import { Named, NoQuery } from '../validation/schemas.js';
import { WaitDto } from '../waits/schemas.js';
import { findMemberData } from './queries.js';
import { CopiedMemberParams, MemberDataDto } from './schemas.js';

const routes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { eventTypes }) => {
  for (const schema of [
    MemberDto,
    SignupListDto,
    WaitDto,
    AttendanceDto,
    EventDto(eventTypes),
    MemberDataDto,
  ]) {
    app.addSchema(schema);
  }

  app.get(
    '/members/me/data',
    {
      config: { policy: 'RequireViewer' },
      schema: {
        operationId: 'copyMyData',
        summary: 'Copy all data about you',
        description:
          'What this club has stored about you, whole and as of one moment. Of other members it has ids and names only.',
        querystring: NoQuery,
        responseHeaders: ['Content-Disposition'],
        response: { 200: Named(MemberDataDto) },
      },
    },
    async (request, reply) => {
      const copy = onlyRow(await request.read(findMemberData('me')));
      return sendCopy(reply, String(request.memberId), copy);
    },
  );

  app.get(
    '/members/:id/data',
    {
      config: { policy: 'RequireAdmin' },
      schema: {
        operationId: 'copyMemberData',
        summary: 'Copy all data about a member',
        description:
          'What this club has stored about a member, whole and as of one moment. Of other members it has ids and names only.',
        params: CopiedMemberParams,
        querystring: NoQuery,
        errors: [memberNotFound],
        responseHeaders: ['Content-Disposition'],
        response: { 200: Named(MemberDataDto) },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const copy = foundRow(await request.read(findMemberData(id)), memberNotFound);
      return sendCopy(reply, id.toLowerCase(), copy);
    },
  );
};

/** Sends a copy as a file that no cache stores. */
function sendCopy(reply: FastifyReply, memberId: string, copy: Json<MemberDataDto>): MemberDataDto {
  reply.headers({
    'content-disposition': `attachment; filename="member-${memberId}.json"`,
    'cache-control': 'no-store',
  });
  return sendRow(reply, copy);
}

/** The resource copies: all data about a member in one file. */
export const copies: Resource = {
  tag: { name: 'Copies', description: 'A copy of all data about a member.' },
  errors: [],
  eventTypes: [],
  routes,
};
