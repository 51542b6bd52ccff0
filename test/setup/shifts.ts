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
  signupOpensAt?: string | null;
  signupClosesAt?: string | null;
  cancelUntil?: string | null;
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
export function tally(responses: Pick<Response, 'status' | 'body'>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of responses) {
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
