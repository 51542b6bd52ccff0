import { type Static, Type } from '@sinclair/typebox';
import { ListQuery } from '../http/page.js';
import {
  Id,
  Named,
  Nullable,
  OneOf,
  SearchText,
  Strict,
  TextInput,
  Timestamp,
  TimestampInput,
} from '../validation/schemas.js';

const listed = {
  id: Id(),
  title: Type.String(),
  location: Nullable(Type.String()),
  startsAt: Timestamp(),
  endsAt: Timestamp(),
  capacity: Type.Integer({ minimum: 1, maximum: 10_000 }),
  signupCount: Type.Integer({ minimum: 0 }),
  freeSlots: Type.Integer({ minimum: 0 }),
  isSignedUp: Type.Boolean({ description: 'Whether the caller is signed up.' }),
  version: Type.Integer({ minimum: 1 }),
};

export const ShiftListDto = Type.Object(listed, { $id: 'ShiftListDto' });
export type ShiftListDto = Static<typeof ShiftListDto>;

export const ShiftSignupDto = Type.Object(
  {
    id: Id(),
    shiftId: Id(),
    memberId: Id(),
    memberName: Type.String(),
    createdAt: Timestamp(),
  },
  { $id: 'ShiftSignupDto' },
);
export type ShiftSignupDto = Static<typeof ShiftSignupDto>;

export const ShiftDetailDto = Type.Object(
  {
    ...listed,
    clubId: Id(),
    description: Nullable(Type.String()),
    signups: Type.Array(Named(ShiftSignupDto), { description: 'In the order of signing up.' }),
    createdById: Nullable(Id()),
    createdAt: Timestamp(),
    updatedAt: Timestamp(),
  },
  { $id: 'ShiftDetailDto' },
);
export type ShiftDetailDto = Static<typeof ShiftDetailDto>;

const written = {
  title: TextInput('line', { minLength: 1, maxLength: 200 }),
  startsAt: TimestampInput(),
  endsAt: TimestampInput(),
  capacity: Type.Integer({ minimum: 1, maximum: 10_000 }),
  location: Type.Optional(Nullable(TextInput('line', { maxLength: 200 }))),
  description: Type.Optional(Nullable(TextInput('block', { maxLength: 10_000 }))),
};

const example = {
  title: 'Boathouse cleaning',
  startsAt: '2031-05-01T18:00:00+02:00',
  endsAt: '2031-05-01T20:00:00+02:00',
  capacity: 8,
  location: 'Boathouse',
};

export const CreateShiftRequest = Strict(written, {
  $id: 'CreateShiftRequest',
  'x-period': true,
  examples: [example],
});
export type CreateShiftRequest = Static<typeof CreateShiftRequest>;

/** PUT replaces: an optional field that is left out becomes null. */
export const UpdateShiftRequest = Strict(
  { ...written, version: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })) },
  { $id: 'UpdateShiftRequest', 'x-period': true, examples: [{ ...example, version: 1 }] },
);
export type UpdateShiftRequest = Static<typeof UpdateShiftRequest>;

/** Signing up says nothing but itself: no body, or an empty object. */
export const SignUpRequest = Strict({});

export const SHIFT_SORTS = ['startsAt', 'title', 'createdAt'] as const;

/** `from` and `to` cut out a window; a shift is in it when any part of it is. */
export const ShiftListQuery = ListQuery(
  {
    from: Type.Optional(TimestampInput()),
    to: Type.Optional(TimestampInput()),
    signedUp: Type.Optional(OneOf(['me'], { description: 'Shifts that you are signed up for.' })),
    hasFreeSlots: Type.Optional(OneOf(['true'], { description: 'Shifts with a free place.' })),
    q: Type.Optional(SearchText('the title')),
  },
  SHIFT_SORTS,
);
export type ShiftListQuery = Static<typeof ShiftListQuery>;
