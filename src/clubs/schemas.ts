import { type Static, Type } from '@sinclair/typebox';
import { CLUB_ID } from '../examples.js';
import { ROLES } from '../roles.js';
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
  {
    $id: 'ClubDto',
    examples: [
      {
        id: CLUB_ID,
        name: 'Rowing Club North',
        slug: 'north',
        timeZone: 'Europe/Berlin',
        role: 'Manager',
        createdAt: '2025-03-01T09:00:00Z',
      },
      {
        id: '0194c0f3-f100-7625-ba42-d9feba922794',
        name: 'Tennis Club South',
        slug: 'south',
        timeZone: 'Europe/Lisbon',
        role: 'Viewer',
        createdAt: '2025-02-01T10:00:00Z',
      },
    ],
  },
);
export type ClubDto = Static<typeof ClubDto>;
