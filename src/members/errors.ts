import { Type } from '@sinclair/typebox';
import { defineError } from '../errors/problem.js';
import { ANNA, BEN, IDA_ID, STARTED_SHIFT_ID } from '../examples.js';
import { Id } from '../validation/schemas.js';

export const memberNotFound = defineError({
  code: 'member_not_found',
  status: 404,
  title: 'Member not found',
  detail: 'This club has no member with that id. GET /api/members lists them.',
  meaning:
    'No member of this club has this id. A member belongs to one club: the same person has another id in each club.',
  fix: 'Take an id from `GET /api/members`, and check that `X-Tenant-Id` is the club you mean.',
  sqlState: 'ME001',
  // The member of a new record was deleted while it was recorded.
  constraint: 'attendance_member_fkey',
  example: { request: `GET /api/members/${BEN.id}` },
});

export const memberHasLogin = defineError({
  code: 'member_has_login',
  status: 409,
  title: 'Member has a login',
  detail:
    'This member has a login, and their token has the name and the e-mail address. Only the reference of such a member can be changed; they are not deleted or merged.',
  meaning:
    'The member has used the service. The name and the e-mail address come from their token, and only a member without a login is changed, ' +
    'deleted or merged.',
  fix:
    'Change the name or the e-mail address at the identity provider, and the `reference` by a PATCH of nothing else. If the person has left, ' +
    'end the membership instead of deleting the member.',
  sqlState: 'ME002',
  example: { request: `PATCH /api/members/${BEN.id}` },
});

export const memberReferenceTaken = defineError({
  code: 'member_reference_taken',
  status: 409,
  title: 'Member reference taken',
  detail:
    'Another member of this club has this reference. GET /api/members?status=Active,Left&reference= finds them.',
  meaning: 'A `reference` is unique in its club, among members who have left too.',
  fix: 'Find the other member with `GET /api/members?reference=…&status=Active,Left`, and choose another reference, or keep that member.',
  constraint: 'members_reference_key',
  example: { request: 'POST /api/members' },
});

export const ownMembership = defineError({
  code: 'own_membership',
  status: 409,
  title: 'Own membership',
  detail: 'This is your own membership. Another Admin of the club can change it.',
  meaning: 'An Admin ends and renews the memberships of other members only, so that a club keeps an Admin.',
  fix: 'Ask another Admin. If there is none, give another member the role at the identity provider first.',
  sqlState: 'ME007',
  example: { request: `PUT /api/members/${ANNA.id}/membership` },
});

export const memberInUse = defineError({
  code: 'member_in_use',
  status: 409,
  title: 'Member in use',
  detail:
    'Something of this club, such as a signup or a task, names this member. Delete what names the member, or merge the member into another one.',
  meaning:
    'Something of the club names the member: a signup, a wait, a record of attendance, a task or a shift.',
  fix:
    'Delete what names the member, or merge the member into another one. If a merge gets this response, something was written meanwhile: ' +
    'send it again.',
  sqlState: 'ME003',
  // A merge: a row of a table that it does not know.
  constraint: 'member_in_use',
  example: { request: `DELETE /api/members/${IDA_ID}` },
});

const MERGE = `POST /api/members/${IDA_ID}/merge`;

export const mergeTargetInvalid = defineError({
  code: 'merge_target_invalid',
  status: 422,
  title: 'Merge target invalid',
  detail: '`into` must be the id of another member of this club who is Active. GET /api/members lists them.',
  meaning:
    'No member of this club has the id in `into`, it is the member who would be merged, or that member has left or was erased.',
  fix: 'Take an `id` from `GET /api/members`, which lists the active members.',
  sqlState: 'ME004',
  example: { request: MERGE },
});

export const attendanceConflict = defineError({
  code: 'attendance_conflict',
  status: 409,
  title: 'Attendance conflict',
  detail:
    'Both members have a record of attendance of the shifts in `shiftIds`. Delete one of each two, then merge again.',
  meaning:
    'Both members have a record of attendance of one shift. Only a person can decide which of the two is right.',
  fix:
    'Of each shift in `shiftIds` delete one record with `DELETE /api/shifts/{id}/attendance/{memberId}`, then send the ' +
    'request again.',
  members: { shiftIds: Type.Array(Id(), { description: 'The shifts, by their start.' }) },
  sqlState: 'ME005',
  example: { request: MERGE, members: { shiftIds: [STARTED_SHIFT_ID] } },
});
