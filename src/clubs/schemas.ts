import { type Static, Type } from '@sinclair/typebox';
import { ROLES } from '../identity/roles.js';
import { Id, OneOf, Timestamp } from '../validation/schemas.js';

export const ClubDto = Type.Object(
  {
    id: Id(),
    name: Type.String(),
    slug: Type.String(),
    timeZone: Type.String({ description: 'A time zone of the IANA database.' }),
    role: OneOf(ROLES),
    createdAt: Timestamp(),
  },
  { $id: 'ClubDto' },
);
export type ClubDto = Static<typeof ClubDto>;
