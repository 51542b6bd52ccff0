import { type Static, Type } from '@sinclair/typebox';
import { ROLES } from '../identity/roles.js';
import { Id, Nullable, OneOf, Timestamp } from '../validation/schemas.js';

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
