import { type Static, Type } from '@sinclair/typebox';
import { ANNA, BEN, SHIFT_ID, SIGNED_UP_SHIFT_ID } from '../examples.js';
import { ListQuery } from '../resource/pagination.js';
import { batchFilter, promotion, ShiftParams, signupCreator, windowFilter } from '../shifts/schemas.js';
import { Id, IdParams, MemberFilter, Nullable, Strict, Timestamp } from '../validation/schemas.js';
import { window } from '../validation/window.js';

export const SignedUpShiftParams = IdParams('shift', SIGNED_UP_SHIFT_ID);

export const RosterParams = Strict({
  ...ShiftParams.properties,
  memberId: Type.String({ format: 'uuid', description: 'The id of the member.', examples: [BEN.id] }),
});

const exampleRow = {
  id: '019d54a9-afe0-72e9-82f5-57fe93055e13',
  shiftId: SHIFT_ID,
  shiftTitle: 'Boathouse cleaning',
  location: 'Boathouse',
  startsAt: '2031-05-01T16:00:00Z',
  endsAt: '2031-05-01T18:00:00Z',
  memberId: BEN.id,
  memberName: BEN.name,
  createdById: ANNA.id,
  createdAt: '2026-04-03T18:45:00Z',
  promotedAt: null,
};

export const SignupListDto = Type.Object(
  {
    id: Id(),
    shiftId: Id(),
    shiftTitle: Type.String(),
    location: Nullable(Type.String()),
    startsAt: Timestamp(),
    endsAt: Timestamp(),
    memberId: Id(),
    memberName: Type.String(),
    createdById: signupCreator,
    createdAt: Timestamp(),
    promotedAt: promotion,
  },
  {
    $id: 'SignupListDto',
    examples: [
      exampleRow,
      {
        ...exampleRow,
        id: '019d52ff-f780-7d31-a1c5-64e0b2f8d913',
        shiftId: SIGNED_UP_SHIFT_ID,
        shiftTitle: 'Regatta catering',
        location: null,
        startsAt: '2031-05-08T06:00:00Z',
        endsAt: '2031-05-08T12:30:00Z',
        memberId: ANNA.id,
        memberName: ANNA.name,
        createdAt: '2026-04-03T11:00:00Z',
      },
    ],
  },
);
export type SignupListDto = Static<typeof SignupListDto>;

export const SIGNUP_SORT = 'startsAt';
export const SIGNUP_SORTS = ['startsAt'] as const;

/** `from` and `to` are a window; a signup matches when any part of its shift is in the window. */
export const SignupListQuery = ListQuery(
  {
    ...windowFilter,
    memberId: Type.Optional(MemberFilter('Signups of this member: the id of a member, or `me`.')),
    shiftId: Type.Optional(
      Type.String({ format: 'uuid', description: 'Signups for this shift.', examples: [SHIFT_ID] }),
    ),
    batchId: Type.Optional({ ...batchFilter, description: 'Signups for shifts that were created together.' }),
  },
  SIGNUP_SORTS,
  SIGNUP_SORT,
  { 'x-rule': window },
);
export type SignupListQuery = Static<typeof SignupListQuery>;
