/**
 * What the examples of the document have in common: one club, as Anna sees it, who is its Manager, and Ben.
 * The rest of an example stands with the schema of its DTO.
 */

/** The id of the demo club as well, so that what /docs fills in works with `make run`. */
export const CLUB_ID = '11111111-1111-4111-8111-111111111111';
export const ANNA = { id: '019557d1-7660-7749-8b0b-db8d39042ddd', name: 'Anna Albers' };
export const BEN = { id: '01957a3d-69c0-7963-9a0e-391710bc2a24', name: 'Ben Brandt' };
export const TASK_ID = '019d4d0b-9d20-7082-8524-56680d21b90d';
export const SHIFT_ID = '019d48ea-2e00-7f9f-9200-578b0737e037';
/** A shift with a place of the caller's, which the first one has not: so signing up and cancelling both succeed. */
export const SIGNED_UP_SHIFT_ID = '019d48f3-55c0-72e7-83d8-8f3c56968d21';

/** As a list gives it out in its Link header. */
export const CURSOR =
  'WyJFNmJmSkNBZUFqOTJfZ1VyIiwiMjAyNi0wMy0yOFQxNjo0MDowMC4wMDAwMDBaIiwiMDE5ZDM1NTEtMTcwMC03OWFkLWJhZmMtZWUyYWM4MTQwMWYwIl0';

export const REQUEST_ID = '3f2c8a52-6a0e-4c1a-9a61-0d5f8f6e7b10';
