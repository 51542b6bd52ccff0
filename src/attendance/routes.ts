import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Json } from '../database/json.js';
import { preconditionFailed } from '../errors/conflict.js';
import { Problem } from '../errors/problem.js';
import { invalidCursor } from '../errors/request.js';
import { memberNotFound } from '../members/errors.js';
import { requireCurrent, sendVersion, tagsOf } from '../resource/conditional.js';
import { readAboutMembers } from '../resource/members.js';
import { type Listed, pageOf, readPage, sendPage } from '../resource/pagination.js';
import { sendPut } from '../resource/put.js';
import type { Resource } from '../resource/resource.js';
import { foundRow, onlyRow } from '../resource/rows.js';
import { shiftNotFound } from '../shifts/errors.js';
import { Named, NoQuery } from '../validation/schemas.js';
import * as errors from './errors.js';
import {
  attendanceOrders,
  deleteAttendance,
  findAttendance,
  listAttendance,
  listShiftAttendance,
  lockAttendance,
  lockShift,
  nameOrders,
  recordAttendance,
} from './queries.js';
import {
  ATTENDANCE_SORT,
  AttendanceDto,
  AttendanceListQuery,
  AttendanceParams,
  NAME_SORT,
  RecordAttendanceRequest,
  ShiftAttendanceDto,
  ShiftAttendanceParams,
  ShiftAttendanceQuery,
} from './schemas.js';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  for (const schema of [AttendanceDto, ShiftAttendanceDto, RecordAttendanceRequest]) {
    app.addSchema(schema);
  }

  app.get(
    '/attendance',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'listAttendance',
        summary: 'List who came when',
        description:
          'In pages: the header Link has the URL of the next page. By the start of the shift. A Manager reads all records, a Member their own.',
        querystring: AttendanceListQuery,
        errors: [invalidCursor],
        ...pageOf(Named(AttendanceDto)),
      },
    },
    async (request, reply) => {
      const { query } = request;
      const page = readPage(request, attendanceOrders, ATTENDANCE_SORT);
      const rows = await readAboutMembers(request, query.memberId, (readsAll) =>
        listAttendance(readsAll ? query : { ...query, memberId: 'me' }, page),
      );
      return sendPage(request, reply, page, rows);
    },
  );

  app.get(
    '/shifts/:id/attendance',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'listShiftAttendance',
        summary: 'List who came to a shift',
        description:
          'In pages: the header Link has the URL of the next page. Everybody who signed up or has a record, by name.',
        params: ShiftAttendanceParams,
        querystring: ShiftAttendanceQuery,
        errors: [invalidCursor, shiftNotFound],
        ...pageOf(Named(ShiftAttendanceDto)),
      },
    },
    async (request, reply) => {
      const page = readPage(request, nameOrders, NAME_SORT);
      const rows = await request.read(listShiftAttendance(request.params.id, page));
      if (rows[0]?.parse().id === null) {
        throw new Problem(shiftNotFound);
      }
      return sendPage(request, reply, page, rows as Json<Listed<ShiftAttendanceDto>>[]);
    },
  );

  app.put(
    '/shifts/:id/attendance/:memberId',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'recordAttendance',
        summary: 'Record whether a member came',
        description:
          'From the start of the shift on, for any member, signed up or not. The same status and minutes change nothing. With `If-None-Match: *` only if nothing is recorded yet. A record outlives its shift and can then still be changed.',
        params: AttendanceParams,
        querystring: NoQuery,
        body: Named(RecordAttendanceRequest),
        errors: [
          shiftNotFound,
          memberNotFound,
          preconditionFailed,
          errors.attendanceVersionConflict,
          errors.shiftNotStarted,
        ],
        requestHeaders: ['If-Match', 'If-None-Match'],
        responseHeaders: ['ETag', 'Location'],
        response: { 200: Named(AttendanceDto), 201: Named(AttendanceDto) },
      },
    },
    async (request, reply) => {
      const { params, body, headers } = request;
      const conditions = {
        ifMatch: tagsOf(headers['if-match']),
        ifNoneMatch: tagsOf(headers['if-none-match']),
      };
      return sendPut(reply, onlyRow(await request.call(recordAttendance(params, body, conditions))));
    },
  );

  app.get(
    '/shifts/:id/attendance/:memberId',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'getAttendance',
        summary: 'Read whether a member came',
        description: 'A Manager reads the record of any member, a Member their own.',
        params: AttendanceParams,
        querystring: NoQuery,
        errors: [shiftNotFound, errors.attendanceNotFound],
        responseHeaders: ['ETag'],
        response: { 200: Named(AttendanceDto) },
      },
    },
    async (request, reply) => {
      const { id, memberId } = request.params;
      const found = await readAboutMembers(request, memberId, () => findAttendance(id, memberId));
      const record = foundRow(found, shiftNotFound);
      if (record.parse().version === null) {
        throw new Problem(errors.attendanceNotFound);
      }
      return sendVersion(reply, record as Json<AttendanceDto>);
    },
  );

  app.delete(
    '/shifts/:id/attendance/:memberId',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'deleteAttendance',
        summary: 'Delete the record of a member',
        description: 'With If-Match, only if its version is unchanged.',
        params: AttendanceParams,
        querystring: NoQuery,
        errors: [shiftNotFound, errors.attendanceNotFound, preconditionFailed],
        requestHeaders: ['If-Match'],
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { id, memberId } = request.params;
      await request.transaction(async (tx) => {
        const notFound = (await lockShift(tx, id)) ? errors.attendanceNotFound : shiftNotFound;
        requireCurrent(await lockAttendance(tx, id, memberId), request, { notFound });
        await deleteAttendance(tx, id, memberId);
      });
      return reply.code(204).send(null);
    },
  );
};

/** The resource attendance: who came to which shift. */
export const attendance: Resource = {
  tag: { name: 'Attendance', description: 'Who came to a shift, and for how long.' },
  errors: Object.values(errors),
  eventTypes: ['attendance.created', 'attendance.changed', 'attendance.deleted'],
  routes,
};
