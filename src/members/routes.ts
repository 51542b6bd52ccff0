import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { tenantOf } from '../auth/tenant.js';
import { asJson } from '../database/sql.js';
import { insufficientRole } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';
import { invalidCursor, validationFailed } from '../errors/request.js';
import { sendRow } from '../resource/json-response.js';
import { pageOf, readPage, sendPage } from '../resource/pagination.js';
import type { Resource } from '../resource/resource.js';
import { foundRow, onlyRow } from '../resource/rows.js';
import { isAtLeast } from '../roles.js';
import { Named, NoQuery } from '../validation/schemas.js';
import * as errors from './errors.js';
import {
  deleteMember,
  findMember,
  findMyself,
  importMembers,
  insertMember,
  listMembers,
  memberOrders,
  mergeMembers,
  patchMember,
  setMembership,
} from './queries.js';
import {
  CreateMemberRequest,
  exampleImport,
  ImportMembersRequest,
  MEMBER_SORT,
  MemberDto,
  MemberListQuery,
  MemberParams,
  MergeMembersRequest,
  NoLoginParams,
  SetMembershipRequest,
  UpdateMemberRequest,
} from './schemas.js';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.addSchema(MemberDto);
  app.addSchema(CreateMemberRequest);
  app.addSchema(ImportMembersRequest);
  app.addSchema(UpdateMemberRequest);
  app.addSchema(SetMembershipRequest);
  app.addSchema(MergeMembersRequest);

  app.get(
    '/members',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'listMembers',
        summary: 'List the members of the club',
        description:
          'In pages: the header Link has the URL of the next page. Your role decides which contact data you see. Without `status`, members ' +
          'who have left and erased ones are not listed.',
        querystring: MemberListQuery,
        errors: [invalidCursor],
        ...pageOf(Named(MemberDto)),
      },
    },
    async (request, reply) => {
      const { role } = tenantOf(request);
      if (request.query.reference !== undefined && !isAtLeast(role, 'Manager')) {
        throw new Problem(insufficientRole, { requiredRole: 'Manager', yourRole: role });
      }
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
          'Managers see the e-mail address and the `reference`, and Admins the `externalUserId`. You see all of yourself.',
        params: MemberParams,
        querystring: NoQuery,
        errors: [errors.memberNotFound],
        response: { 200: Named(MemberDto) },
      },
    },
    async (request, reply) => {
      const found = await request.read(findMember(request.params.id));
      return sendRow(reply, foundRow(found, errors.memberNotFound));
    },
  );

  app.post(
    '/members',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'createMember',
        summary: 'Enter a member without a login',
        description:
          'Managers sign the member up, assign tasks to them and record their attendance. A person who logs in later is another member: ' +
          'an e-mail address is not compared.',
        querystring: NoQuery,
        body: Named(CreateMemberRequest),
        errors: [errors.memberReferenceTaken],
        requestHeaders: ['Idempotency-Key'],
        responseHeaders: ['Location', 'Idempotent-Replayed'],
        response: { 201: Named(MemberDto) },
      },
    },
    async (request, reply) =>
      reply.create(async (tx) => {
        const member = await insertMember(tx, request.body);
        return { location: `/api/members/${member.parse().id}`, body: member };
      }),
  );

  app.post(
    '/members/batch',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'importMembers',
        summary: 'Enter many members without a login',
        description:
          'All or none, in the order of the request. A member whose `reference` exists is returned unchanged, so an import can be ' +
          'repeated.',
        querystring: NoQuery,
        body: Named(ImportMembersRequest),
        requestHeaders: ['Idempotency-Key'],
        responseHeaders: ['Location', 'Idempotent-Replayed'],
        response: { 201: Type.Array(Named(MemberDto), { examples: [exampleImport] }) },
      },
    },
    async (request, reply) => {
      const references = request.body.members.map(({ reference }) => reference);
      const repeated = references.flatMap((reference, index) =>
        references.indexOf(reference) < index ? [`/members/${index}/reference`] : [],
      );
      if (repeated.length > 0) {
        throw new Problem(validationFailed, {
          errors: repeated.map((pointer) => ({
            pointer,
            code: 'invalid_value',
            detail: 'This reference is in the request already.',
          })),
        });
      }
      return reply.create<MemberDto[]>(async (tx) => ({
        location: '/api/members',
        body: await importMembers(tx, request.body),
      }));
    },
  );

  app.patch(
    '/members/:id',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'updateMember',
        summary: 'Change a member',
        description:
          'A JSON Merge Patch (RFC 7396): an absent field keeps its value, null clears it. `displayName` and `email` only of a member ' +
          'without a login: of others the token has them.',
        params: NoLoginParams,
        querystring: NoQuery,
        body: Named(UpdateMemberRequest),
        errors: [errors.memberNotFound, errors.memberHasLogin, errors.memberReferenceTaken],
        response: { 200: Named(MemberDto) },
      },
    },
    async (request, reply) => {
      const { params, body } = request;
      return sendRow(reply, onlyRow(await request.call(patchMember(params.id, body))));
    },
  );

  app.put(
    '/members/:id/membership',
    {
      config: { policy: 'RequireAdmin' },
      schema: {
        operationId: 'setMembership',
        summary: 'End or renew a membership',
        description:
          'From the response to `Left` on, every request of the member in this club is refused with `membership_ended`, with a valid ' +
          'token too. Their signups and waits at shifts that have not started are deleted, and their calendar link. Tasks, records and ' +
          'hours stay. `Active` renews the membership; what was deleted stays deleted.',
        params: NoLoginParams,
        querystring: NoQuery,
        body: Named(SetMembershipRequest),
        errors: [errors.memberNotFound, errors.ownMembership],
        response: { 200: Named(MemberDto) },
      },
    },
    async (request, reply) => {
      const { params, body } = request;
      return sendRow(reply, onlyRow(await request.call(setMembership(params.id, body))));
    },
  );

  app.delete(
    '/members/:id',
    {
      config: { policy: 'RequireAdmin' },
      schema: {
        operationId: 'deleteMember',
        summary: 'Delete a member without a login',
        description: 'This cannot be undone. Possible while nothing in the club names the member.',
        params: NoLoginParams,
        querystring: NoQuery,
        errors: [errors.memberNotFound, errors.memberHasLogin, errors.memberInUse],
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await request.call(deleteMember(request.params.id));
      return reply.code(204).send(null);
    },
  );

  app.post(
    '/members/:id/merge',
    {
      config: { policy: 'RequireAdmin' },
      schema: {
        operationId: 'mergeMembers',
        summary: 'Merge a member without a login into another member',
        description:
          'What names the member names the member `into` afterwards, who is returned, and the member is deleted. This cannot be undone. ' +
          'Of two signups for one shift that of `into` stays, of two waits the earlier one, and a signup rather than a wait. ' +
          '`reference` moves if `into` has none. So a person who logs in for the first time gets what was entered before.',
        params: NoLoginParams,
        querystring: NoQuery,
        body: Named(MergeMembersRequest),
        errors: [
          errors.memberNotFound,
          errors.memberHasLogin,
          errors.mergeTargetInvalid,
          errors.attendanceConflict,
          errors.memberInUse,
        ],
        requestHeaders: ['Idempotency-Key'],
        responseHeaders: ['Idempotent-Replayed'],
        response: { 200: Named(MemberDto) },
      },
    },
    async (request, reply) => {
      const { params, body } = request;
      return reply.create<MemberDto>(async (tx) => ({
        status: 200,
        body: onlyRow(await tx.json<MemberDto>(asJson(mergeMembers(params.id, body)))),
      }));
    },
  );
};

/** The resource members. */
export const members: Resource = {
  tag: { name: 'Members', description: 'People in a club. You become one with your first request there.' },
  errors: Object.values(errors),
  eventTypes: ['member.created', 'member.changed', 'member.erased', 'member.deleted'],
  routes,
};
