import { defineError } from '../errors/problem.js';
import { BEN } from '../examples.js';

export const memberNotFound = defineError({
  code: 'member_not_found',
  status: 404,
  title: 'Member not found',
  detail: 'This club has no member with that id. GET /api/members lists them.',
  meaning:
    'No member of this club has this id. A member belongs to one club: the same person has another id in each club.',
  fix: 'Take an id from `GET /api/members`, and check that `X-Tenant-Id` is the club you mean.',
  sqlState: 'ME001',
  example: { request: `GET /api/members/${BEN.id}` },
});
