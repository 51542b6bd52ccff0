import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Json } from '../database/json.js';
import { memberNotFound } from '../errors/member.js';
import { Problem } from '../errors/problem.js';
import { shiftNotFound } from '../errors/shift.js';
import { sendRow } from '../resource/json-response.js';
import { sendPut } from '../resource/put.js';
import { foundRow, onlyRow } from '../resource/rows.js';
import { Named, NoQuery } from '../validation/schemas.js';
import * as errors from './errors.js';
import { findSignup } from './queries.js';
import { assignSignUp, removeSignUp } from './roster-queries.js';
import { RosterParams, ShiftSignupDto } from './schemas.js';

/** The roster of a shift: Managers sign members up and off. */
export const roster: FastifyPluginAsyncTypebox = async (app) => {
  app.put(
    '/shifts/:id/signups/:memberId',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'assignSignUp',
        summary: 'Sign a member up for a shift',
        description:
          'For any member of the club. The signup that exists is returned with 200; otherwise the member takes a free place, as ' +
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
        description: 'The place is free again at once. Possible until the shift starts.',
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
};

/** The signup of `findSignup`. @throws Problem when there is no such shift or no signup */
export function foundSignup(
  found: Json<ShiftSignupDto | Record<keyof ShiftSignupDto, null>>[],
): Json<ShiftSignupDto> {
  const signup = foundRow(found, shiftNotFound);
  if (signup.parse().id === null) {
    throw new Problem(errors.signupNotFound);
  }
  return signup as Json<ShiftSignupDto>;
}
