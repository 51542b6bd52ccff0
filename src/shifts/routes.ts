import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { Problem } from '../errors/problem.js';
import { etagOf, requireMatch } from '../http/conditional.js';
import { answerPage, readPage } from '../http/pagination.js';
import { Named, NoQuery } from '../validation/schemas.js';
import {
  deleteShift,
  findShift,
  insertShift,
  isIndexed,
  listShifts,
  lockShift,
  shiftOrders,
  updateShift,
} from './queries.js';
import {
  CreateShiftRequest,
  ShiftDetailDto,
  ShiftListDto,
  ShiftListQuery,
  ShiftParams,
  ShiftSignupDto,
  UpdateShiftRequest,
} from './schemas.js';
import { signup } from './signup.js';

export const shifts: FastifyPluginAsyncTypebox = async (app) => {
  for (const schema of [
    ShiftSignupDto,
    ShiftListDto,
    ShiftDetailDto,
    CreateShiftRequest,
    UpdateShiftRequest,
  ]) {
    app.addSchema(schema);
  }
  await app.register(signup);

  app.get(
    '/shifts',
    {
      config: { policy: 'RequireViewer', problems: ['invalid_cursor'], sends: ['Link'] },
      schema: {
        operationId: 'listShifts',
        tags: ['Shifts'],
        summary: 'List the shifts of the club',
        description:
          'Page by page: the header Link leads to the next one. Several filters narrow the list together.',
        querystring: ShiftListQuery,
        response: { 200: Type.Array(Named(ShiftListDto)) },
      },
    },
    async (request, reply) => {
      requireWindow(request.query);
      const page = readPage(request, shiftOrders, 'startsAt');
      const lease = isIndexed(request.query) ? 'shared' : 'exclusive';
      const rows = await request.read(listShifts(request.query, page), lease);
      return answerPage(request, reply, page, rows);
    },
  );

  app.get(
    '/shifts/:id',
    {
      config: { policy: 'RequireViewer', problems: ['shift_not_found'], sends: ['ETag'] },
      schema: {
        operationId: 'getShift',
        tags: ['Shifts'],
        summary: 'Read a shift and who signed up',
        description: 'Signups stand in the order of signing up; they do not change the version.',
        params: ShiftParams,
        querystring: NoQuery,
        response: { 200: Named(ShiftDetailDto) },
      },
    },
    async (request, reply) => {
      // A connection of its own: a shift may have thousands of signups.
      const [shift] = await request.read(findShift(request.params.id));
      if (shift === undefined) {
        throw new Problem('shift_not_found');
      }
      reply.header('etag', etagOf(shift.version));
      return shift;
    },
  );

  app.post(
    '/shifts',
    {
      config: {
        policy: 'RequireManager',
        reads: ['Idempotency-Key'],
        sends: ['ETag', 'Location', 'Idempotent-Replayed'],
      },
      schema: {
        operationId: 'createShift',
        tags: ['Shifts'],
        summary: 'Make a shift',
        description: 'Its start may lie in the past; nobody signs up for it then.',
        querystring: NoQuery,
        body: Named(CreateShiftRequest),
        response: { 201: Named(ShiftDetailDto) },
      },
    },
    async (request, reply) =>
      reply.create(async (tx) => {
        const shift = await insertShift(tx, request.body);
        return { location: `/api/shifts/${shift.id}`, etag: etagOf(shift.version), body: shift };
      }),
  );

  app.put(
    '/shifts/:id',
    {
      config: {
        policy: 'RequireManager',
        problems: [
          'shift_not_found',
          'precondition_failed',
          'shift_version_conflict',
          'capacity_below_signups',
        ],
        reads: ['If-Match'],
        sends: ['ETag'],
      },
      schema: {
        operationId: 'replaceShift',
        tags: ['Shifts'],
        summary: 'Replace a shift',
        description: 'All of it: an optional field that is left out becomes null.',
        params: ShiftParams,
        querystring: NoQuery,
        body: Named(UpdateShiftRequest),
        response: { 200: Named(ShiftDetailDto) },
      },
    },
    async (request, reply) => {
      const { params, body, headers } = request;
      const shift = await request.transaction(async (tx) => {
        const locked = await lockShift(tx, params.id);
        if (locked === undefined) {
          throw new Problem('shift_not_found');
        }
        requireMatch(headers['if-match'], locked.version);
        if (body.version !== undefined && body.version !== locked.version) {
          throw new Problem('shift_version_conflict', { currentVersion: locked.version });
        }
        if (body.capacity < locked.signupCount) {
          throw new Problem('capacity_below_signups', { signupCount: locked.signupCount });
        }
        return updateShift(tx, params.id, body);
      });
      reply.header('etag', etagOf(shift.version));
      return shift;
    },
  );

  app.delete(
    '/shifts/:id',
    {
      config: {
        policy: 'RequireAdmin',
        problems: ['shift_not_found', 'precondition_failed'],
        reads: ['If-Match'],
      },
      schema: {
        operationId: 'deleteShift',
        tags: ['Shifts'],
        summary: 'Delete a shift and its signups',
        description: 'For good. With If-Match only if nobody has changed it meanwhile.',
        params: ShiftParams,
        querystring: NoQuery,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await request.transaction(async (tx) => {
        const locked = await lockShift(tx, request.params.id);
        if (locked === undefined) {
          throw new Problem('shift_not_found');
        }
        requireMatch(request.headers['if-match'], locked.version);
        await deleteShift(tx, request.params.id);
      });
      return reply.code(204).send(null);
    },
  );
};

/** A window that ends before it begins is a mistake, not an empty list. */
function requireWindow({ from, to }: ShiftListQuery): void {
  if (from !== undefined && to !== undefined && from > to) {
    throw new Problem('invalid_parameter', {
      errors: [{ parameter: 'to', code: 'invalid_value', detail: 'This must not be before `from`.' }],
    });
  }
}
