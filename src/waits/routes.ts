import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Json } from '../database/json.js';
import { asJson } from '../database/sql.js';
import { Problem } from '../errors/problem.js';
import { invalidCursor } from '../errors/request.js';
import { memberNotFound } from '../members/errors.js';
import { sendRow } from '../resource/json-response.js';
import { type Listed, pageOf, readPage, sendPage } from '../resource/pagination.js';
import { sendPut } from '../resource/put.js';
import type { Resource } from '../resource/resource.js';
import { foundRow, onlyRow } from '../resource/rows.js';
import { shiftNotFound } from '../shifts/errors.js';
import { alreadySignedUp, shiftInPast, signupClosed, signupNotOpen } from '../signups/errors.js';
import { Named, NoQuery } from '../validation/schemas.js';
import * as errors from './errors.js';
import {
  assignWait,
  findWait,
  listWaits,
  removeWait,
  stopWaiting,
  waitForPlace,
  waitOrders,
} from './queries.js';
import { FullShiftParams, WAIT_SORT, WaitDto, WaitListQuery, WaitParams } from './schemas.js';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.addSchema(WaitDto);

  app.post(
    '/shifts/:id/wait',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'waitForPlace',
        summary: 'Wait for a place in a full shift',
        description:
          'You are signed up as soon as a place is free and you are next, without another request, until the shift starts, or its ' +
          '`cancelUntil` if it has one. Possible while sign-up is open.',
        params: FullShiftParams,
        querystring: NoQuery,
        errors: [
          shiftNotFound,
          shiftInPast,
          signupNotOpen,
          signupClosed,
          alreadySignedUp,
          errors.alreadyWaiting,
          errors.shiftNotFull,
          errors.waitListFull,
        ],
        requestHeaders: ['Idempotency-Key'],
        responseHeaders: ['Location', 'Idempotent-Replayed'],
        response: { 201: Named(WaitDto) },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      return reply.create<WaitDto>(async (tx) => ({
        location: `/api/shifts/${id.toLowerCase()}/wait`,
        body: onlyRow(await tx.json<WaitDto>(asJson(waitForPlace(id)))),
      }));
    },
  );

  app.get(
    '/shifts/:id/wait',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'getMyWait',
        summary: 'Read your wait',
        description: 'With your position: 1 is next. It ends when you get a place.',
        params: FullShiftParams,
        querystring: NoQuery,
        errors: [shiftNotFound, errors.waitNotFound],
        response: { 200: Named(WaitDto) },
      },
    },
    async (request, reply) =>
      sendRow(reply, foundWait(await request.read(findWait(request.params.id, 'me')))),
  );

  app.delete(
    '/shifts/:id/wait',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'stopWaiting',
        summary: 'Stop waiting',
        description: 'A member who waits again is the last. Possible until the shift starts.',
        params: FullShiftParams,
        querystring: NoQuery,
        errors: [shiftNotFound, shiftInPast, errors.waitNotFound],
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await request.call(stopWaiting(request.params.id));
      return reply.code(204).send(null);
    },
  );

  app.get(
    '/shifts/:id/waits',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'listWaits',
        summary: 'List who waits for a place in a shift',
        description:
          'In pages: the header Link has the URL of the next page. In the order of the queue. Positions can change between two pages, ' +
          'but no wait is on both.',
        params: FullShiftParams,
        querystring: WaitListQuery,
        errors: [invalidCursor, shiftNotFound],
        ...pageOf(Named(WaitDto)),
      },
    },
    async (request, reply) => {
      const page = readPage(request, waitOrders, WAIT_SORT);
      const rows = await request.read(listWaits(request.params.id, page));
      if (rows[0]?.parse().id === null) {
        throw new Problem(shiftNotFound);
      }
      return sendPage(request, reply, page, rows as Json<Listed<WaitDto>>[]);
    },
  );

  app.put(
    '/shifts/:id/waits/:memberId',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'assignWait',
        summary: 'Let a member wait for a place',
        description:
          'For any member of the club, even if sign-up is not open. The wait that exists is returned with 200; otherwise the member is the last.',
        params: WaitParams,
        querystring: NoQuery,
        errors: [
          shiftNotFound,
          memberNotFound,
          shiftInPast,
          alreadySignedUp,
          errors.shiftNotFull,
          errors.waitListFull,
        ],
        responseHeaders: ['Location'],
        response: { 200: Named(WaitDto), 201: Named(WaitDto) },
      },
    },
    async (request, reply) => {
      const { id, memberId } = request.params;
      return sendPut(reply, onlyRow(await request.call(assignWait(id, memberId))));
    },
  );

  app.get(
    '/shifts/:id/waits/:memberId',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'getWait',
        summary: 'Read the wait of a member',
        description: 'Since when the member waits, at which position, and who created the wait.',
        params: WaitParams,
        querystring: NoQuery,
        errors: [shiftNotFound, errors.waitNotFound],
        response: { 200: Named(WaitDto) },
      },
    },
    async (request, reply) => {
      const { id, memberId } = request.params;
      return sendRow(reply, foundWait(await request.read(findWait(id, memberId))));
    },
  );

  app.delete(
    '/shifts/:id/waits/:memberId',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'removeWait',
        summary: 'End the wait of a member',
        description: 'Possible until the shift starts.',
        params: WaitParams,
        querystring: NoQuery,
        errors: [shiftNotFound, shiftInPast, errors.waitNotFound],
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { id, memberId } = request.params;
      await request.call(removeWait(id, memberId));
      return reply.code(204).send(null);
    },
  );
};

/** The wait of `findWait`. @throws Problem when there is no such shift or no wait */
function foundWait(found: Json<WaitDto | Record<keyof WaitDto, null>>[]): Json<WaitDto> {
  const wait = foundRow(found, shiftNotFound);
  if (wait.parse().id === null) {
    throw new Problem(errors.waitNotFound);
  }
  return wait as Json<WaitDto>;
}

/** The resource waits: who is next when a place of a full shift becomes free. */
export const waits: Resource = {
  tag: {
    name: 'Waits',
    description: 'Who waits for a place in a full shift, and gets it when it becomes free.',
  },
  errors: Object.values(errors),
  eventTypes: ['wait.created', 'wait.deleted'],
  routes,
};
