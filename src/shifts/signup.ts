import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { Named, NoQuery } from '../validation/schemas.js';
import { cancelSignUp, signUp } from './queries.js';
import { ShiftParams, ShiftSignupDto, SignUpRequest } from './schemas.js';

/** The caller's signup for a shift: one resource, made and taken back. */
export const signup: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/shifts/:id/signup',
    {
      config: {
        policy: 'RequireMember',
        problems: ['shift_not_found', 'shift_in_past', 'already_signed_up', 'shift_full'],
        reads: ['Idempotency-Key'],
        sends: ['Location', 'Idempotent-Replayed'],
        bodyIsOptional: true,
      },
      schema: {
        operationId: 'signUp',
        tags: ['Shifts'],
        summary: 'Sign up for a shift',
        description:
          'Takes one of the free places until the shift starts. Of several who want the last one, one gets it.',
        params: ShiftParams,
        querystring: NoQuery,
        body: SignUpRequest,
        response: { 201: Named(ShiftSignupDto) },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      return reply.create(async (tx) => ({
        location: `/api/shifts/${id.toLowerCase()}/signup`,
        body: await signUp(tx, id),
      }));
    },
  );

  app.delete(
    '/shifts/:id/signup',
    {
      config: { policy: 'RequireMember', problems: ['shift_not_found', 'shift_in_past', 'signup_not_found'] },
      schema: {
        operationId: 'cancelSignUp',
        tags: ['Shifts'],
        summary: 'Cancel your signup',
        description: 'Your place is free again at once. From the start of the shift on nobody cancels.',
        params: ShiftParams,
        querystring: NoQuery,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await request.transaction((tx) => cancelSignUp(tx, request.params.id));
      return reply.code(204).send(null);
    },
  );
};
