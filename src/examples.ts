/**
 * Values that several examples of the OpenAPI document use: one club, its Manager Anna, who sends the requests, and its
 * member Ben. The schema of each DTO has its other example values.
 */

/** Also the id of the demo club, so that the examples in /docs work with `make run`. */
export const CLUB_ID = '11111111-1111-4111-8111-111111111111';
export const ANNA = { id: '019557d1-7660-7749-8b0b-db8d39042ddd', name: 'Anna Albers' };
export const BEN = { id: '01957a3d-69c0-7963-9a0e-391710bc2a24', name: 'Ben Brandt' };
/** A member without a login, whom a Manager has entered. */
export const IDA_ID = '01957f02-4f18-7d06-9b51-6d3fb2c48a77';
export const TASK_ID = '019d4d0b-9d20-7082-8524-56680d21b90d';
export const SHIFT_ID = '019d48ea-2e00-7f9f-9200-578b0737e037';
export const BATCH_ID = '019d48e9-5b80-7d1c-a6e2-93c40f7a1b55';
export const EVENT_ID = '019d5497-8c28-7c5e-8f43-1d6a52b09e71';
/** A shift that the caller is signed up for, unlike the first one: so the examples of signup and cancellation both succeed. */
export const SIGNED_UP_SHIFT_ID = '019d48f3-55c0-72e7-83d8-8f3c56968d21';

/** A full shift that is still to come, for whose places the people of the examples wait. */
export const FULL_SHIFT_ID = '019d48f7-0a60-7c93-a5de-4b6c2f9e1d37';

/** A shift in the past, of which attendance is recorded. */
export const STARTED_SHIFT_ID = '019c9f2e-6d40-7b36-9c1f-2e5a84d07b63';

/** The secret of a calendar link. The demo data has its hash, so the example works with `make run`. */
export const CALENDAR_SECRET = 'q2n0fXb7R1mVtKc5yJw8LzD4HsUeGp6oAaNi9TkBv3E';

/** A cursor as in the Link header of a list. */
export const CURSOR =
  'WyJFNmJmSkNBZUFqOTJfZ1VyIiwiMjAyNi0wMy0yOFQxNjo0MDowMC4wMDAwMDBaIiwiMDE5ZDM1NTEtMTcwMC03OWFkLWJhZmMtZWUyYWM4MTQwMWYwIl0';

export const REQUEST_ID = '3f2c8a52-6a0e-4c1a-9a61-0d5f8f6e7b10';
