import { defineError } from '../errors/problem.js';
import { ANNA, BEN, IDA_ID } from '../examples.js';

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
    'This member has a login: their token has the name and the e-mail address. Only the reference can be changed.',
  meaning:
    'The member has used the service. The name and the e-mail address come from their token, and only a member without a login is changed, ' +
    'deleted or merged.',
  fix: 'Change the name or the e-mail address at the identity provider. Send only `reference` to change that.',
  sqlState: 'ME002',
  example: { request: `PATCH /api/members/${BEN.id}` },
});

export const memberReferenceTaken = defineError({
  code: 'member_reference_taken',
  status: 409,
  title: 'Member reference taken',
  detail: 'Another member of this club has this reference. GET /api/members?reference= finds them.',
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
  fix: 'Ask another Admin. If there is none, give somebody else the role at the identity provider first.',
  sqlState: 'ME007',
  example: { request: `PUT /api/members/${ANNA.id}/membership` },
});

export const memberInUse = defineError({
  code: 'member_in_use',
  status: 409,
  title: 'Member in use',
  detail:
    'A signup, a wait, a record of attendance, a task or a shift names this member, who is not deleted.',
  meaning:
    'Something of the club names the member: a signup, a wait, a record of attendance, a task or a shift.',
  fix: 'Delete what names the member, or merge the member into another one.',
  sqlState: 'ME003',
  example: { request: `DELETE /api/members/${IDA_ID}` },
});
