import { defineError } from '../errors/problem.js';
import { FULL_SHIFT_ID } from '../examples.js';

const WAIT = `POST /api/shifts/${FULL_SHIFT_ID}/wait`;

export const waitNotFound = defineError({
  code: 'wait_not_found',
  status: 404,
  title: 'Wait not found',
  detail: 'The member does not wait for a place in this shift: they never did, stopped, or have got a place.',
  meaning: 'The member does not wait: they never did, stopped, or got a place, which ends the wait.',
  fix:
    'To stop waiting, you need not do anything. `GET /api/shifts/{id}/signup` reads the place that you may have got, and ' +
    '`GET /api/shifts?waiting=me` lists the shifts in which you wait.',
  sqlState: 'WA004',
  example: { request: `DELETE /api/shifts/${FULL_SHIFT_ID}/wait` },
});

export const alreadyWaiting = defineError({
  code: 'already_waiting',
  status: 409,
  title: 'Already waiting',
  detail: 'You wait for a place in this shift already. You need not do anything.',
  meaning: 'You wait for a place in this shift already, and keep your position.',
  fix: 'Treat it as a success. `GET` of the same path returns your position.',
  sqlState: 'WA001',
  example: { request: WAIT },
});

export const shiftNotFull = defineError({
  code: 'shift_not_full',
  status: 409,
  title: 'Shift not full',
  detail: 'This shift has a free place. Sign up instead of waiting.',
  meaning: 'A place is free, and members wait only for a place in a full shift.',
  fix: 'Sign up: `POST /api/shifts/{id}/signup`. A Manager signs a member up by `PUT /api/shifts/{id}/signups/{memberId}`.',
  sqlState: 'WA002',
  example: { request: WAIT },
});

export const waitListFull = defineError({
  code: 'wait_list_full',
  status: 409,
  title: 'Waiting list full',
  detail: '500 members wait for a place in this shift. Choose another shift.',
  meaning: 'At most 500 members can wait for a place in a shift.',
  fix: 'Choose another shift, or try again after somebody stops waiting.',
  sqlState: 'WA003',
  example: { request: WAIT },
});
