import { type Static, Type } from '@sinclair/typebox';
import { ListQuery } from '../http/page.js';
import { ROLES } from '../identity/roles.js';
import { Id, Nullable, OneOf, SearchText, Timestamp } from '../validation/schemas.js';

export const MemberDto = Type.Object(
  {
    id: Id(),
    clubId: Id(),
    displayName: Type.String(),
    email: Nullable(Type.String({ description: 'Null unless it is you, or you are Manager or higher.' })),
    role: OneOf(ROLES),
    externalUserId: Nullable(Type.String({ description: 'Null unless it is you, or you are Admin.' })),
    joinedAt: Timestamp(),
    updatedAt: Timestamp(),
  },
  { $id: 'MemberDto' },
);
export type MemberDto = Static<typeof MemberDto>;

export const MEMBER_SORTS = ['displayName', 'joinedAt'] as const;

export const MemberListQuery = ListQuery(
  {
    q: Type.Optional(SearchText('the display name')),
    role: Type.Optional(OneOf(ROLES, { description: 'Members last seen with this role.' })),
  },
  MEMBER_SORTS,
);
export type MemberListQuery = Static<typeof MemberListQuery>;
