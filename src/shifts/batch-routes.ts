import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Json } from '../database/json.js';
import type { Transaction } from '../database/transaction.js';
import { Problem } from '../errors/problem.js';
import { validationFailed } from '../errors/request.js';
import { Named, NoQuery } from '../validation/schemas.js';
import { deleteBatch, insertListed, insertRepeated, listOccurrences } from './batch-queries.js';
import { CreateShiftBatchRequest, datesOf, exampleBatch, MOST_SHIFTS, type Repeat } from './batch-schemas.js';
import { shiftNotFound } from './errors.js';
import { DeleteShiftsQuery, ShiftListDto } from './schemas.js';

/** Many shifts at once: all are created, or none. */
export const batches: FastifyPluginAsyncTypebox = async (app) => {
  app.addSchema(CreateShiftBatchRequest);

  app.post(
    '/shifts/batch',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'createShifts',
        summary: 'Create many shifts at once',
        description:
          'All or none, from a list, or from a rule such as every Tuesday until September. The times of a rule are local times of the ' +
          'club. The rule is not stored: each shift can be changed alone. The shifts have the same `batchId`.',
        querystring: NoQuery,
        body: Named(CreateShiftBatchRequest),
        requestHeaders: ['Idempotency-Key'],
        responseHeaders: ['Location', 'Idempotent-Replayed'],
        response: { 201: Type.Array(Named(ShiftListDto), { examples: [exampleBatch] }) },
      },
    },
    async (request, reply) => {
      const { shifts = [], repeat } = request.body;
      const dates = repeat === undefined ? [] : datesOf(repeat);
      if (repeat !== undefined && dates.length === 0) {
        throw invalid('/repeat/until', 'The rule gives no shift until this day.');
      }
      if (dates.length > MOST_SHIFTS) {
        throw invalid('/repeat/until', `The rule gives more than ${MOST_SHIFTS} shifts until this day.`);
      }
      const batchId = randomUUID();
      return reply.create<ShiftListDto[]>(async (tx) => ({
        location: `/api/shifts?batchId=${batchId}`,
        body:
          repeat === undefined
            ? await insertListed(tx, batchId, shifts)
            : await createRepeated(tx, batchId, repeat, dates),
      }));
    },
  );

  app.delete(
    '/shifts',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'deleteShifts',
        summary: 'Delete the shifts of a batch and their signups',
        description:
          'This cannot be undone. With `from`, only the rest of a season. An Admin can delete any, a Manager only shifts of their ' +
          'own that have no signups and no waits. A season with thousands of signups can take longer than a request may: after a 503 ' +
          'delete it in pieces, from the end, by `from`.',
        querystring: DeleteShiftsQuery,
        errors: [shiftNotFound],
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const [deleted] = await request.call(deleteBatch(request.query));
      if (deleted?.parse().count === 0) {
        throw new Problem(shiftNotFound, {
          detail:
            'This club has no such shift of this batch. GET /api/shifts?batchId= lists those that it has.',
        });
      }
      return reply.code(204).send(null);
    },
  );
};

/** @throws Problem `validation_failed` if a time of a shift is invalid */
async function createRepeated(
  tx: Transaction,
  batchId: string,
  repeat: Repeat,
  dates: string[],
): Promise<Json<ShiftListDto>[]> {
  const occurrences = await listOccurrences(tx, repeat, dates);
  const wrong = occurrences.filter(({ isValid }) => !isValid).map(({ date }) => date);
  if (wrong.length > 0) {
    const detail =
      `This must be after the start, by 31 days at most, in the years 1970 to 2199. Dates on which it is not: ${wrong.join(', ')}. ` +
      'Where the clocks go forward, a start that does not exist moves later, past a short end: put these dates into `except`.';
    throw invalid('/repeat/endsAtLocal', detail);
  }
  const tooEarly = new Set(
    occurrences.flatMap((one) => (one.tooEarly === '' ? [] : one.tooEarly.split(','))),
  );
  if (tooEarly.size > 0) {
    throw invalid(
      [...tooEarly].map((field) => `/repeat/${field}`),
      'This gives a time before 1970.',
    );
  }
  return insertRepeated(tx, batchId, repeat, occurrences);
}

function invalid(pointers: string | string[], detail: string): Problem {
  const errors = [pointers].flat().map((pointer) => ({ pointer, code: 'invalid_value', detail }));
  return new Problem(validationFailed, { errors });
}
