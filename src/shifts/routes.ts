import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { preconditionFailed } from '../errors/conflict.js';
import { Problem } from '../errors/problem.js';
import { invalidCursor, validationFailed } from '../errors/request.js';
import { etagOf, requireCurrent, sendVersion } from '../resource/conditional.js';
import { pageOf, readPage, sendPage } from '../resource/pagination.js';
import type { Resource } from '../resource/resource.js';
import { foundRow } from '../resource/rows.js';
import { Named, NoQuery } from '../validation/schemas.js';
import { batches } from './batch-routes.js';
import * as errors from './errors.js';
import {
  deleteShift,
  findShift,
  insertShift,
  listShifts,
  lockShift,
  shiftOrders,
  updateShift,
} from './queries.js';
import {
  CreateShiftRequest,
  SHIFT_SORT,
  ShiftDetailDto,
  ShiftListDto,
  ShiftListQuery,
  ShiftParams,
  ShiftSignupDto,
  UpdateShiftRequest,
} from './schemas.js';
import { type SignupWindow, signupWindow } from './times.js';

const versionErrors = { notFound: errors.shiftNotFound, conflict: errors.shiftVersionConflict };

const routes: FastifyPluginAsyncTypebox = async (app) => {
  for (const schema of [
    ShiftSignupDto,
    ShiftListDto,
    ShiftDetailDto,
    CreateShiftRequest,
    UpdateShiftRequest,
  ]) {
    app.addSchema(schema);
  }

  app.get(
    '/shifts',
    {
      config: { policy: 'RequireViewer' },
      schema: {
        operationId: 'listShifts',
        summary: 'List the shifts of the club',
        description:
          'In pages: the header Link has the URL of the next page. A shift must match all filters.',
        querystring: ShiftListQuery,
        errors: [invalidCursor],
        ...pageOf(Named(ShiftListDto)),
      },
    },
    async (request, reply) => {
      const page = readPage(request, shiftOrders, SHIFT_SORT);
      return sendPage(request, reply, page, await request.read(listShifts(request.query, page)));
    },
  );

  app.get(
    '/shifts/:id',
    {
      config: { policy: 'RequireViewer' },
      schema: {
        operationId: 'getShift',
        summary: 'Read a shift and who signed up',
        description: 'Signups are in the order of signing up. They do not change the version.',
        params: ShiftParams,
        querystring: NoQuery,
        errors: [errors.shiftNotFound],
        responseHeaders: ['ETag'],
        response: { 200: Named(ShiftDetailDto) },
      },
    },
    async (request, reply) => {
      const found = await request.read(findShift(request.params.id));
      return sendVersion(reply, foundRow(found, errors.shiftNotFound));
    },
  );

  app.post(
    '/shifts',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'createShift',
        summary: 'Create a shift',
        description: 'Its start may be in the past; members then cannot sign up.',
        querystring: NoQuery,
        body: Named(CreateShiftRequest),
        requestHeaders: ['Idempotency-Key'],
        responseHeaders: ['ETag', 'Location', 'Idempotent-Replayed'],
        response: { 201: Named(ShiftDetailDto) },
      },
    },
    async (request, reply) =>
      reply.create(async (tx) => {
        const shift = await insertShift(tx, request.body);
        const { id, version } = shift.parse();
        return { location: `/api/shifts/${id}`, etag: etagOf(version), body: shift };
      }),
  );

  app.put(
    '/shifts/:id',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'replaceShift',
        summary: 'Replace a shift',
        description:
          'The body is the complete shift: an optional field that is absent becomes null. Only `signupOpensAt`, `signupClosesAt` ' +
          'and `cancelUntil` then keep their values: `null` removes one.',
        params: ShiftParams,
        querystring: NoQuery,
        body: Named(UpdateShiftRequest),
        errors: [
          errors.shiftNotFound,
          preconditionFailed,
          errors.shiftVersionConflict,
          errors.capacityBelowSignups,
        ],
        requestHeaders: ['If-Match'],
        responseHeaders: ['ETag'],
        response: { 200: Named(ShiftDetailDto) },
      },
    },
    async (request, reply) => {
      const { params, body } = request;
      const shift = await request.transaction(async (tx) => {
        const locked = requireCurrent(await lockShift(tx, params.id), request, versionErrors);
        const changed = withLimits(body, locked.limits);
        if (body.capacity < locked.signupCount) {
          throw new Problem(errors.capacityBelowSignups, { signupCount: locked.signupCount });
        }
        return updateShift(tx, params.id, changed);
      });
      return sendVersion(reply, shift);
    },
  );

  app.delete(
    '/shifts/:id',
    {
      config: { policy: 'RequireAdmin' },
      schema: {
        operationId: 'deleteShift',
        summary: 'Delete a shift and its signups',
        description:
          'Its waits are deleted too. This cannot be undone. With If-Match, only if its version is unchanged.',
        params: ShiftParams,
        querystring: NoQuery,
        errors: [errors.shiftNotFound, preconditionFailed],
        requestHeaders: ['If-Match'],
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await request.transaction(async (tx) => {
        requireCurrent(await lockShift(tx, request.params.id), request, versionErrors);
        await deleteShift(tx, request.params.id);
      });
      return reply.code(204).send(null);
    },
  );

  await app.register(batches);
};

/**
 * A shift with the limits of signing up and cancelling that the request gives, and otherwise those that are stored.
 *
 * @throws Problem `validation_failed` if a stored limit is not in order with the values of the request
 */
function withLimits<Shift extends Partial<SignupWindow>>(
  shift: Shift,
  stored: SignupWindow,
): Shift & SignupWindow {
  const changed = { ...stored, ...shift };
  const errors = signupWindow
    .filter((rule) => !rule.holds(changed))
    .map(({ pointer, detail, limits }) => ({
      pointer,
      code: 'invalid_value',
      detail: `${detail} ${keptOf(limits, shift, stored)}`,
    }));
  if (errors.length > 0) {
    throw new Problem(validationFailed, { errors });
  }
  return changed;
}

/** Says which of these limits the shift keeps. */
function keptOf(limits: (keyof SignupWindow)[], shift: Partial<SignupWindow>, stored: SignupWindow): string {
  const kept = limits
    .filter((name) => stored[name] !== null && !Object.hasOwn(shift, name))
    .map((name) => `\`${name}\` ${stored[name]?.replace('+00:00', 'Z')}`);
  return `The shift keeps what the request leaves out: ${kept.join(', ')}. Send another value, or null.`;
}

/** The resource shifts. */
export const shifts: Resource = {
  tag: { name: 'Shifts', description: 'Work at a fixed time, with a number of places to sign up for.' },
  errors: Object.values(errors),
  eventTypes: ['shift.created', 'shift.changed', 'shift.deleted'],
  routes,
};
