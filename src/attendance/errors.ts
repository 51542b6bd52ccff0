import { CurrentVersion, defineError } from '../errors/problem.js';
import { BEN, STARTED_SHIFT_ID } from '../examples.js';

const PATH = `/api/shifts/${STARTED_SHIFT_ID}/attendance/${BEN.id}`;

export const attendanceNotFound = defineError({
  code: 'attendance_not_found',
  status: 404,
  title: 'Attendance not found',
  detail: 'Nothing is recorded about this member and this shift.',
  meaning: 'It was not recorded yet whether the member came to this shift, or the record was deleted.',
  fix: 'A Manager records it with `PUT` to the same path.',
  example: { request: `GET ${PATH}` },
});

export const attendanceVersionConflict = defineError({
  code: 'attendance_version_conflict',
  status: 409,
  title: 'Attendance was changed',
  detail: ({ currentVersion }) =>
    currentVersion === undefined
      ? 'Nothing is recorded any more, or the record has the highest possible version. Read it again.'
      : `Somebody changed the record since you read it. Read it again and repeat your change on version ${currentVersion}.`,
  meaning:
    'The `version` you sent is not the current one: your change would overwrite a change that you have not seen.',
  fix:
    'Read the record again, check what has changed, and send your change with its new `version`. Where nothing is recorded, send ' +
    'no `version`.',
  members: { currentVersion: CurrentVersion },
  sqlState: 'AT001',
  example: { request: `PUT ${PATH}`, members: { currentVersion: 2 } },
});

export const shiftNotStarted = defineError({
  code: 'shift_not_started',
  status: 422,
  title: 'Shift not started',
  detail: 'The shift has not started. Record who came from its start on.',
  meaning: 'Attendance is recorded from `startsAt` on. The clock of the database decides.',
  fix:
    'Wait until the shift has started. If its start is wrong, a Manager can correct it. If the shift was postponed after its ' +
    'attendance was recorded, a Manager can delete the record.',
  sqlState: 'AT002',
  example: { request: `PUT ${PATH}` },
});
