import { Type } from '@sinclair/typebox';
import { CurrentVersion, defineError } from '../errors/problem.js';
import { SHIFT_ID } from '../examples.js';

const PUT = `PUT /api/shifts/${SHIFT_ID}`;

export const shiftNotFound = defineError({
  code: 'shift_not_found',
  status: 404,
  title: 'Shift not found',
  detail: 'This club has no shift with that id. GET /api/shifts lists them.',
  meaning:
    'No shift of this club has this id, or this `batchId`: it was deleted, belongs to another club, or never existed.',
  fix: 'Take an id from `GET /api/shifts`, and check that `X-Tenant-Id` is the club you mean.',
  sqlState: 'SH001',
  example: { request: `GET /api/shifts/${SHIFT_ID}` },
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
