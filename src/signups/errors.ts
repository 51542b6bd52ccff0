import { Type } from '@sinclair/typebox';
import { defineError } from '../errors/problem.js';
import { SHIFT_ID, SIGNED_UP_SHIFT_ID } from '../examples.js';
import { Timestamp } from '../validation/schemas.js';

const SIGN_UP = `POST /api/shifts/${SHIFT_ID}/signup`;
const CANCEL = `DELETE /api/shifts/${SIGNED_UP_SHIFT_ID}/signup`;

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
  example: { request: CANCEL },
});

export const shiftFull = defineError({
  code: 'shift_full',
  status: 409,
  title: 'Shift full',
  detail: ({ waitCount = 0 }) =>
    `Every place of this shift is taken${waitCount === 0 ? '' : `, and ${waitCount} wait for one`}. Choose another shift, or wait for a place.`,
  meaning:
    'The shift has as many signups as places. A place that becomes free goes to the first of those who wait.',
  fix:
    'Choose another shift: `GET /api/shifts?hasFreeSlots=true&signupOpen=true` lists those with a free place. Or wait: ' +
    '`POST /api/shifts/{id}/wait` signs you up when it is your turn. A Manager can raise the capacity.',
  sqlState: 'SH004',
  members: { waitCount: Type.Integer({ description: 'How many members wait for a place.' }) },
  example: { request: SIGN_UP, members: { waitCount: 0 } },
});

export const alreadySignedUp = defineError({
  code: 'already_signed_up',
  status: 409,
  title: 'Already signed up',
  detail: 'The member is signed up for this shift already. You need not do anything.',
  meaning: 'The member has a place in this shift already, and can have only one.',
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
  detail: 'The shift has started, so its signups and waits are closed.',
  meaning:
    'From `startsAt` on, members cannot sign up, cancel, wait or stop waiting, and a Manager cannot do it for them. The ' +
    'clock of the database decides.',
  fix:
    'Choose a shift that has not started: `GET /api/shifts?signupOpen=true` lists those that are open. ' +
    'If the start is wrong, a Manager can correct it.',
  sqlState: 'SH002',
  example: { request: SIGN_UP },
});

export const signupNotOpen = defineError({
  code: 'signup_not_open',
  status: 422,
  title: 'Sign-up not open',
  detail: ({ signupOpensAt }) =>
    `Sign-up for this shift is not open yet. ${signupOpensAt === undefined ? 'Read the shift to see when it opens.' : `It opens at ${signupOpensAt}.`}`,
  meaning: 'Members sign up from `signupOpensAt` of the shift on. The clock of the database decides.',
  fix: 'Wait until `signupOpensAt`, or ask a Manager, who is not bound by it. `GET /api/shifts?signupOpen=true` lists the shifts that are open.',
  members: { signupOpensAt: { ...Timestamp(), description: 'When sign-up opens.' } },
  sqlState: 'SH007',
  example: { request: SIGN_UP, members: { signupOpensAt: '2031-04-24T16:00:00Z' } },
});

export const signupClosed = defineError({
  code: 'signup_closed',
  status: 422,
  title: 'Sign-up closed',
  detail: ({ signupClosesAt }) =>
    `Sign-up for this shift closed${signupClosesAt === undefined ? '' : ` at ${signupClosesAt}`}. Ask a Manager, who is not bound by it.`,
  meaning: 'Members sign up before `signupClosesAt` of the shift. The clock of the database decides.',
  fix: 'Ask a Manager, who is not bound by it. `GET /api/shifts?signupOpen=true` lists the shifts that are open.',
  members: { signupClosesAt: { ...Timestamp(), description: 'When sign-up closed.' } },
  sqlState: 'SH008',
  example: { request: SIGN_UP, members: { signupClosesAt: '2031-05-01T12:00:00Z' } },
});

export const cancelTooLate = defineError({
  code: 'cancel_too_late',
  status: 422,
  title: 'Too late to cancel',
  detail: ({ cancelUntil }) =>
    `Signups for this shift could be cancelled${cancelUntil === undefined ? ' only earlier' : ` until ${cancelUntil}`}. Ask a Manager, who can still cancel yours.`,
  meaning:
    'Members cancel their signups before `cancelUntil` of the shift. The clock of the database decides.',
  fix: 'Ask a Manager, who is not bound by it.',
  members: { cancelUntil: { ...Timestamp(), description: 'Until when signups could be cancelled.' } },
  sqlState: 'SH009',
  example: { request: CANCEL, members: { cancelUntil: '2031-05-07T06:00:00Z' } },
});
