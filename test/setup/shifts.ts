import type { TestDatabase } from './database.js';
import type { Caller, RuntimeSession } from './runtime.js';
import type { Response } from './send.js';

/** The fields of a shift that its creator decides. */
export interface ShiftRequest {
  title: string;
  startsAt: string;
  endsAt: string;
  capacity: number;
  location?: string | null;
  description?: string | null;
}

/** A time this many hours from now; in the past when negative. */
export function hoursFromNow(hours: number): string {
  return new Date(Date.now() + hours * 3_600_000).toISOString();
}

/** The body of a valid request: by default a shift of two hours, a day from now. */
export function shiftRequest(difference: Partial<ShiftRequest> = {}): ShiftRequest {
  return {
    title: 'Bar',
    startsAt: hoursFromNow(24),
    endsAt: hoursFromNow(26),
    capacity: 2,
    ...difference,
  };
}

/** The times of a shift that has started and has not ended. */
export function started(): Pick<ShiftRequest, 'startsAt' | 'endsAt'> {
  return { startsAt: hoursFromNow(-1), endsAt: hoursFromNow(1) };
}

/** Counts responses: errors by code, successes by status. */
export function tally(answers: Pick<Response, 'status' | 'body'>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const name = status < 400 ? String(status) : `${status} ${body.code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** An error without the parts that differ for each request. */
export function withoutRequest({ status, body }: Response): unknown {
  return { status, body: { ...body, requestId: '', instance: '' } };
}

/** Inserts a shift of tomorrow in raw SQL. */
export async function insertShift(
  session: RuntimeSession,
  creator: Caller,
  capacity: number,
): Promise<string> {
  const { rows } = await session.run(
    creator,
    `insert into app.shifts (title, starts_at, ends_at, capacity)
     values ('Bar', now() + '1 day', now() + '2 days', $1) returning id`,
    [capacity],
  );
  return rows[0].id;
}

/** The counter of a shift and the number of its signup rows, which must be equal. Empty when there is no shift. */
export async function countsOf(db: TestDatabase, id: string): Promise<number[]> {
  const shifts = await db.queryAsAdmin<{ counter: number; rows: number }>(
    `select signup_count as counter,
       (select count(*)::int from app.shift_signups as signup where signup.shift_id = shift.id) as rows
     from app.shifts as shift where id = $1`,
    [id],
  );
  return shifts.flatMap(({ counter, rows }) => [counter, rows]);
}

/** Times in a request: RFC 3339 with an offset, in the years 1970 to 2199 as written and in UTC. */
export const instants = {
  valid: [
    '2031-05-01T18:00:00Z',
    '2031-05-01T18:00:00.1234567+02:00',
    '1970-01-01T00:00:00Z',
    '1970-01-01T01:00:00+01:00',
    '2199-12-31T22:59:59-01:00',
  ],
  invalid: [
    '',
    'tomorrow',
    '2031-05-01',
    '2031-05-01T18:00:00',
    '2031-02-29T00:00:00Z',
    '2016-12-31T23:59:60Z',
    '1969-12-31T23:59:59Z',
    '1969-12-31T23:30:00-01:00',
    '1970-01-01T00:30:00+01:00',
    '1970-01-01T00:59:59.999999+01:00',
    '2199-12-31T23:00:00-01:00',
    '2199-12-31T23:30:00-01:00',
    '2200-01-01T00:00:00Z',
    '2200-01-01T00:30:00+01:00',
  ],
};
