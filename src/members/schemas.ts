import { type Static, Type } from '@sinclair/typebox';
import { ANNA, BEN, CLUB_ID } from '../examples.js';
import { ListQuery } from '../resource/pagination.js';
import { ROLES } from '../roles.js';
import { Id, IdParams, Nullable, OneOf, SearchText, Timestamp } from '../validation/schemas.js';

export const MemberDto = Type.Object(
  {
    id: Id(),
    clubId: Id(),
    displayName: Type.String(),
    email: Nullable(
      Type.String({ description: 'Null, unless it is your own or your role is at least Manager.' }),
    ),
    role: OneOf(ROLES),
    externalUserId: Nullable(
      Type.String({ description: 'Null, unless it is your own or your role is Admin.' }),
    ),
    joinedAt: Timestamp(),
    updatedAt: Timestamp(),
  },
  {
    $id: 'MemberDto',
    examples: [
      {
        id: ANNA.id,
        clubId: CLUB_ID,
        displayName: ANNA.name,
        email: 'anna@example.org',
        role: 'Manager',
        externalUserId: 'anna',
        joinedAt: '2025-03-02T17:05:00Z',
        updatedAt: '2026-01-12T08:30:00Z',
      },
      {
        id: BEN.id,
        clubId: CLUB_ID,
        displayName: BEN.name,
        email: 'ben@example.org',
        role: 'Member',
        externalUserId: null,
        joinedAt: '2025-03-09T09:30:00Z',
        updatedAt: '2025-03-09T09:30:00Z',
      },
    ],
  },
);
export type MemberDto = Static<typeof MemberDto>;

export const MemberParams = IdParams('member', BEN.id);

export const MEMBER_SORT = 'displayName';
export const MEMBER_SORTS = ['displayName', 'joinedAt'] as const;

export const MemberListQuery = ListQuery(
  {
    q: Type.Optional(SearchText('the display name', 'anna')),
    role: Type.Optional(OneOf(ROLES, { description: 'Members who had this role at their last request.' })),
  },
  MEMBER_SORTS,
  MEMBER_SORT,
);
export type MemberListQuery = Static<typeof MemberListQuery>;
