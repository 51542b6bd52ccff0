/** Errors of authentication, the tenant header, roles and the rate limit. */
import { ROLES } from '../roles.js';
import { OneOf } from '../validation/schemas.js';
import { defineError } from './problem.js';

export const tenantHeaderMissing = defineError({
  code: 'tenant_header_missing',
  status: 400,
  title: 'Tenant header missing',
  detail: 'Send the header X-Tenant-Id with the id of a club. GET /api/clubs/me lists your clubs.',
  meaning:
    'Every path below `/api` except `/api/clubs/me` belongs to one club, and the request does not name it.',
  fix: 'Send `GET /api/clubs/me`, which needs only your token, and send the `id` of a club as `X-Tenant-Id`.',
  example: { request: 'GET /api/tasks' },
});

export const tenantHeaderInvalid = defineError({
  code: 'tenant_header_invalid',
  status: 400,
  title: 'Tenant header invalid',
  detail: 'X-Tenant-Id must be sent once and contain one UUID. GET /api/clubs/me lists your clubs.',
  meaning: 'The header `X-Tenant-Id` is not a UUID, or it was sent twice.',
  fix: 'Send the `id` of a club from `GET /api/clubs/me` unchanged: no name, no braces, no list.',
  example: { request: 'GET /api/tasks' },
});

export const unauthenticated = defineError({
  code: 'unauthenticated',
  status: 401,
  title: 'Not authenticated',
  detail: 'Send a token of the identity provider: Authorization: Bearer <token>.',
  meaning: 'The request has no token after the word `Bearer`, and every path below `/api` needs one.',
  fix:
    'Get an access token from your identity provider and send it in the header `Authorization: Bearer <token>`. ' +
    'Tokens in the URL or in cookies are ignored.',
  example: { request: 'GET /api/clubs/me' },
});

export const invalidToken = defineError({
  code: 'invalid_token',
  status: 401,
  title: 'Invalid token',
  detail: 'The token is not valid here. Get a new one from the identity provider.',
  meaning:
    'The token has expired, is not from the identity provider of this service, is for another audience, or was altered. ' +
    'The response does not say which, because that would help to forge tokens.',
  fix:
    'Get a new token; most often the old one has expired. If a new token is rejected too, compare its `iss`, `aud` and ' +
    '`exp` with what the operator of the service expects; the log of the service has the reason under the `requestId`. ' +
    'The token needs a `sub`. The header must be the word `Bearer` and one token.',
  example: { request: 'GET /api/clubs/me' },
});

export const tenantForbidden = defineError({
  code: 'tenant_forbidden',
  status: 403,
  title: 'No access to this club',
  detail:
    'The club does not exist, or your token gives you no role in it. GET /api/clubs/me lists your clubs.',
  meaning:
    'There is no such club, or you have no role in it. The error is the same for both, so that callers cannot find out ' +
    'which clubs exist.',
  fix:
    'Take an id from `GET /api/clubs/me`. If your club is missing there, its administrator must give you a role at the ' +
    'identity provider. Then get a new token, because roles are in the token.',
  example: { request: 'GET /api/tasks' },
});

export const insufficientRole = defineError({
  code: 'insufficient_role',
  status: 403,
  title: 'Insufficient role',
  detail: ({ requiredRole, yourRole }) =>
    `This needs the role ${requiredRole} in the club; yours is ${yourRole}.`,
  meaning:
    'Your role in this club is too low. Roles are ordered: Viewer < Member < Manager < Admin. The shifts of a batch need an Admin ' +
    'once somebody is signed up, or where others created some of them.',
  fix:
    'Ask a member with the role in `requiredRole` to do it, or ask an administrator of the club for that role. You have ' +
    'it with your next token.',
  members: {
    requiredRole: OneOf(ROLES, { description: 'The lowest role that may do this.' }),
    yourRole: OneOf(ROLES, { description: 'Your role in the club.' }),
  },
  sqlState: 'RO001',
  example: { request: 'POST /api/tasks', members: { requiredRole: 'Manager', yourRole: 'Member' } },
});

export const membershipEnded = defineError({
  code: 'membership_ended',
  status: 403,
  title: 'Membership ended',
  detail: 'Your membership in this club has ended. An Admin of the club can renew it.',
  meaning:
    'An Admin has recorded that you have left this club. Your token may still have a role in it, which no longer counts. ' +
    '`GET /api/clubs/me` does not list the club.',
  fix: 'Ask an Admin of the club to renew your membership. Other clubs are not affected.',
  sqlState: 'ME006',
  example: { request: 'GET /api/tasks' },
});

export const rateLimited = defineError({
  code: 'rate_limited',
  status: 429,
  title: 'Too many requests',
  detail: 'You have reached the limit of requests per minute. Try again after the seconds in Retry-After.',
  meaning:
    'You have sent more requests in this club within a minute than one caller may, or a calendar link was read too often. Other ' +
    'callers and links are not affected.',
  fix:
    'Wait for the seconds in `Retry-After`. `RateLimit-Remaining` in every counted response is the number of requests ' +
    'that are left. With `limit=500` a list needs fewer requests.',
  example: { request: 'GET /api/tasks' },
});
