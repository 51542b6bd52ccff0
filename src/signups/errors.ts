import { defineError } from '../errors/problem.js';
import { SHIFT_ID } from '../examples.js';

const SIGN_UP = `POST /api/shifts/${SHIFT_ID}/signup`;

export const signupNotFound = defineError({
  code: 'signup_not_found',
  status: 404,
  title: 'Signup not found',
  detail: 'The shift has no such signup: the member never signed up, or it was cancelled.',
  meaning: 'The member has no signup for this shift: it was cancelled already, or never existed.',
  fix:
    'To cancel, you need not do anything. `GET /api/shifts?signedUp=me` lists the shifts that you are signed up for, and ' +
    '`GET /api/signups` who is signed up for which.',
  sqlState: 'SH005',
  example: { request: `DELETE /api/shifts/${SHIFT_ID}/signup` },
});

export const shiftFull = defineError({
  code: 'shift_full',
  status: 409,
  title: 'Shift full',
  detail: 'Every place of this shift is taken. Choose another shift, or try again after somebody cancels.',
  meaning: 'The shift has as many signups as places. Places are given in the order of signing up.',
  fix:
    'Choose another shift: `GET /api/shifts?hasFreeSlots=true`, with the present time as `from`, lists those with a free ' +
    'place that have not ended. A Manager can raise the capacity.',
  sqlState: 'SH004',
  example: { request: SIGN_UP },
});

export const alreadySignedUp = defineError({
  code: 'already_signed_up',
  status: 409,
  title: 'Already signed up',
  detail: 'You are signed up for this shift already. You need not do anything.',
  meaning: 'You have a place in this shift already, and a member can have only one.',
  fix:
    'Treat it as a success. To retry a signup whose response was lost, send an `Idempotency-Key`: the same request then ' +
    'gets the first response.',
  sqlState: 'SH003',
  example: { request: SIGN_UP },
});

export const shiftInPast = defineError({
  code: 'shift_in_past',
  status: 422,
  title: 'Shift in the past',
  detail: 'The shift has started, so its signups are closed.',
  meaning:
    'From `startsAt` on, members can neither sign up for a shift nor cancel a signup. The clock of the database decides.',
  fix:
    'Choose a shift whose `startsAt` is still to come: `GET /api/shifts?from=<now>` lists the shifts that have not ended. ' +
    'If the start is wrong, a Manager can correct it.',
  sqlState: 'SH002',
  example: { request: SIGN_UP },
});
