import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Json } from '../database/json.js';
import { Problem } from '../errors/problem.js';
import { invalidCursor } from '../errors/request.js';
import { memberNotFound } from '../members/errors.js';
import { sendRow } from '../resource/json-response.js';
import { pageOf, readPage, sendPage } from '../resource/pagination.js';
import { sendPut } from '../resource/put.js';
import type { Resource } from '../resource/resource.js';
import { foundRow, onlyRow } from '../resource/rows.js';
import { shiftNotFound } from '../shifts/errors.js';
import { ShiftParams, ShiftSignupDto } from '../shifts/schemas.js';
import { Named, NoQuery } from '../validation/schemas.js';
import * as errors from './errors.js';
import {
  assignSignUp,
  cancelSignUp,
  findSignup,
  listSignups,
  removeSignUp,
  signUp,
  signUpOnce,
  signupOrders,
} from './queries.js';
import { RosterParams, SIGNUP_SORT, SignedUpShiftParams, SignupListDto, SignupListQuery } from './schemas.js';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.addSchema(ShiftSignupDto);
  app.addSchema(SignupListDto);

  app.post(
    '/shifts/:id/signup',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'signUp',
        summary: 'Sign up for a shift',
        description:
          'Takes a free place; possible until the shift starts, from `signupOpensAt` on and before `signupClosesAt` if it has them. ' +
          'When several members want the last place, one of them gets it.',
        params: ShiftParams,
        querystring: NoQuery,
        errors: [
          shiftNotFound,
          errors.shiftInPast,
          errors.signupNotOpen,
          errors.signupClosed,
          errors.alreadySignedUp,
          errors.shiftFull,
        ],
        requestHeaders: ['Idempotency-Key'],
        responseHeaders: ['Location', 'Idempotent-Replayed'],
        response: { 201: Named(ShiftSignupDto) },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const location = `/api/shifts/${id.toLowerCase()}/signup`;
      return reply.createByCall({
        location,
        query: signUp(id),
        keyed: (key) => signUpOnce(key, location, id),
      });
    },
  );

  app.get(
    '/shifts/:id/signup',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'getMySignup',
        summary: 'Read your signup',
        description: 'The signup that signing up returned, at the path in its header Location.',
        params: SignedUpShiftParams,
        querystring: NoQuery,
        errors: [shiftNotFound, errors.signupNotFound],
        response: { 200: Named(ShiftSignupDto) },
      },
    },
    async (request, reply) => {
      const found = await request.read(findSignup(request.params.id, 'me'));
      return sendRow(reply, foundSignup(found));
    },
  );

  app.delete(
    '/shifts/:id/signup',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'cancelSignUp',
        summary: 'Cancel your signup',
        description:
          'Your place is free at once, and the first of those who wait gets it. Possible until the shift starts, and before `cancelUntil` ' +
          'if it has one.',
        params: SignedUpShiftParams,
        querystring: NoQuery,
        errors: [shiftNotFound, errors.shiftInPast, errors.cancelTooLate, errors.signupNotFound],
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await request.call(cancelSignUp(request.params.id));
      return reply.code(204).send(null);
    },
  );

  app.put(
    '/shifts/:id/signups/:memberId',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'assignSignUp',
        summary: 'Sign a member up for a shift',
        description:
          'For any member of the club, even if sign-up is not open. The signup that exists is returned with 200; otherwise the member takes a free place, as ' +
          'with a signup of their own.',
        params: RosterParams,
        querystring: NoQuery,
        errors: [shiftNotFound, memberNotFound, errors.shiftInPast, errors.shiftFull],
        responseHeaders: ['Location'],
        response: { 200: Named(ShiftSignupDto), 201: Named(ShiftSignupDto) },
      },
    },
    async (request, reply) => {
      const { id, memberId } = request.params;
      return sendPut(reply, onlyRow(await request.call(assignSignUp(id, memberId))));
    },
  );

  app.get(
    '/shifts/:id/signups/:memberId',
    {
      config: { policy: 'RequireViewer' },
      schema: {
        operationId: 'getSignup',
        summary: 'Read the signup of a member',
        description: 'Who is signed up, since when, and who created the signup.',
        params: RosterParams,
        querystring: NoQuery,
        errors: [shiftNotFound, errors.signupNotFound],
        response: { 200: Named(ShiftSignupDto) },
      },
    },
    async (request, reply) => {
      const { id, memberId } = request.params;
      return sendRow(reply, foundSignup(await request.read(findSignup(id, memberId))));
    },
  );

  app.delete(
    '/shifts/:id/signups/:memberId',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'removeSignUp',
        summary: 'Cancel the signup of a member',
        description:
          'The place is free at once; before `cancelUntil` the first of those who wait gets it. Possible until the shift starts, even after ' +
          '`cancelUntil`.',
        params: RosterParams,
        querystring: NoQuery,
        errors: [shiftNotFound, errors.shiftInPast, errors.signupNotFound],
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { id, memberId } = request.params;
      await request.call(removeSignUp(id, memberId));
      return reply.code(204).send(null);
    },
  );

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
        ...pageOf(Named(SignupListDto)),
      },
    },
    async (request, reply) => {
      const page = readPage(request, signupOrders, SIGNUP_SORT);
      return sendPage(request, reply, page, await request.read(listSignups(request.query, page)));
    },
  );
};

/** The signup of `findSignup`. @throws Problem when there is no such shift or no signup */
function foundSignup(
  found: Json<ShiftSignupDto | Record<keyof ShiftSignupDto, null>>[],
): Json<ShiftSignupDto> {
  const signup = foundRow(found, shiftNotFound);
  if (signup.parse().id === null) {
    throw new Problem(errors.signupNotFound);
  }
  return signup as Json<ShiftSignupDto>;
}

/** The resource signups: one's own, the roster of a shift, and the list of all. */
export const signups: Resource = {
  tag: {
    name: 'Signups',
    description:
      'Who is signed up for what: your own signups, the roster of a shift, and those of all shifts.',
  },
  errors: Object.values(errors),
  eventTypes: ['signup.created', 'signup.deleted'],
  routes,
};
