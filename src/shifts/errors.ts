import { Type } from '@sinclair/typebox';
import { CurrentVersion, defineError } from '../errors/problem.js';
import { SHIFT_ID } from '../examples.js';

const SIGN_UP = `POST /api/shifts/${SHIFT_ID}/signup`;
const PUT = `PUT /api/shifts/${SHIFT_ID}`;

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

export const shiftVersionConflict = defineError({
  code: 'shift_version_conflict',
  status: 409,
  title: 'Shift was changed',
  detail: ({ currentVersion }) =>
    currentVersion === undefined
      ? 'The shift has the highest possible version and cannot be changed. Create a new one.'
      : `Somebody changed the shift since you read it. Read it again and repeat your change on version ${currentVersion}.`,
  meaning:
    'The `version` you sent is not the current one: your change would overwrite a change that you have not seen.',
  fix:
    'Read the shift again, check what has changed, and send the complete shift with its new `version`. That is ' +
    '`currentVersion`, unless somebody has changed the shift again.',
  members: { currentVersion: CurrentVersion },
  sqlState: 'SH006',
  example: { request: PUT, members: { currentVersion: 2 } },
});

export const capacityBelowSignups = defineError({
  code: 'capacity_below_signups',
  status: 409,
  title: 'Capacity below signups',
  detail: ({ signupCount }) =>
    'More members are signed up than the capacity that you sent. ' +
    (signupCount === undefined ? 'Read the shift again to see how many.' : `Choose at least ${signupCount}.`),
  meaning:
    'The capacity of a shift cannot be lower than the number of its signups, so that no member loses a place.',
  fix: 'Choose a `capacity` of at least `signupCount`, or ask members to cancel first.',
  constraint: 'shifts_capacity_holds_signups',
  members: { signupCount: Type.Integer({ description: 'How many members are signed up.' }) },
  example: { request: PUT, members: { signupCount: 2 } },
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
