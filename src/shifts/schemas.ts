import { type Static, Type } from '@sinclair/typebox';
import { ANNA, BATCH_ID, BEN, CLUB_ID, SHIFT_ID, SIGNED_UP_SHIFT_ID } from '../examples.js';
import { ListQuery } from '../resource/pagination.js';
import {
  Id,
  IdParams,
  MemberFilter,
  Named,
  Nullable,
  OneOf,
  SearchText,
  Strict,
  TextInput,
  Timestamp,
  TimestampInput,
  VersionInput,
} from '../validation/schemas.js';
import { window } from '../validation/window.js';
import { period, signupWindow } from './times.js';

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
  waitCount: Type.Integer({ minimum: 0, description: 'How many members wait for a place.' }),
  isWaiting: Type.Boolean({ description: 'Whether the caller waits.' }),
  signupOpensAt: Nullable({ ...Timestamp(), description: 'From when members sign up; null: at once.' }),
  signupClosesAt: Nullable({
    ...Timestamp(),
    description: 'Until when members sign up; null: until the start.',
  }),
  cancelUntil: Nullable({
    ...Timestamp(),
    description: 'Until when members cancel their signup; null: until the start.',
  }),
  batchId: Nullable({ ...Id(), description: 'The same for shifts that were created together.' }),
  version: Type.Integer({ minimum: 1 }),
};

const exampleRow = {
  id: SHIFT_ID,
  title: 'Boathouse cleaning',
  location: 'Boathouse',
  startsAt: '2031-05-01T16:00:00Z',
  endsAt: '2031-05-01T18:00:00Z',
  capacity: 8,
  signupCount: 2,
  freeSlots: 6,
  isSignedUp: true,
  waitCount: 0,
  isWaiting: false,
  signupOpensAt: '2026-04-02T16:00:00Z',
  signupClosesAt: '2031-05-01T12:00:00Z',
  cancelUntil: '2031-04-30T16:00:00Z',
  batchId: null,
  version: 1,
};

export const ShiftListDto = Type.Object(listed, {
  $id: 'ShiftListDto',
  examples: [
    exampleRow,
    {
      id: SIGNED_UP_SHIFT_ID,
      title: 'Regatta catering',
      location: null,
      startsAt: '2031-05-08T06:00:00Z',
      endsAt: '2031-05-08T12:30:00Z',
      capacity: 1,
      signupCount: 1,
      freeSlots: 0,
      isSignedUp: true,
      waitCount: 1,
      isWaiting: false,
      signupOpensAt: null,
      signupClosesAt: null,
      cancelUntil: null,
      batchId: null,
      version: 2,
    },
  ],
});
export type ShiftListDto = Static<typeof ShiftListDto>;

/** When a place was given by promotion. */
export const promotion = Nullable({
  ...Timestamp(),
  description: 'When the place was given to the member, who waited. Null: it was not given by promotion.',
});

/** Who created a signup. */
export const signupCreator = Nullable({
  ...Id(),
  description: 'The member who created the signup. Null: an operator did, or it is older than this field.',
});

const exampleSignup = {
  id: '019d51ff-9e80-7802-8bc9-1b5c37d55d4a',
  shiftId: exampleRow.id,
  memberId: ANNA.id,
  memberName: ANNA.name,
  createdById: ANNA.id,
  createdAt: '2026-04-03T06:20:00Z',
  promotedAt: null,
};

/** The signup of a member whom a Manager signed up. */
const assignedSignup = {
  ...exampleSignup,
  id: '019d54a9-afe0-72e9-82f5-57fe93055e13',
  memberId: BEN.id,
  memberName: BEN.name,
  createdAt: '2026-04-03T18:45:00Z',
};

export const ShiftSignupDto = Type.Object(
  {
    id: Id(),
    shiftId: Id(),
    memberId: Id(),
    memberName: Type.String(),
    createdById: signupCreator,
    createdAt: Timestamp(),
    promotedAt: promotion,
  },
  {
    $id: 'ShiftSignupDto',
    examples: [
      {
        ...exampleSignup,
        id: '019d52ff-f780-7d31-a1c5-64e0b2f8d913',
        shiftId: SIGNED_UP_SHIFT_ID,
        createdAt: '2026-04-03T11:00:00Z',
      },
      assignedSignup,
      exampleSignup,
    ],
  },
);
export type ShiftSignupDto = Static<typeof ShiftSignupDto>;

const exampleDetail = {
  ...exampleRow,
  clubId: CLUB_ID,
  description: 'Bring gloves.',
  signups: [exampleSignup, assignedSignup],
  createdById: ANNA.id,
  createdAt: '2026-04-01T12:00:00Z',
  updatedAt: '2026-04-01T12:00:00Z',
};

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
  {
    $id: 'ShiftDetailDto',
    examples: [
      exampleDetail,
      {
        ...exampleDetail,
        signups: [],
        signupCount: 0,
        freeSlots: exampleRow.capacity,
        isSignedUp: false,
      },
    ],
  },
);
export type ShiftDetailDto = Static<typeof ShiftDetailDto>;

export const ShiftParams = IdParams('shift', exampleRow.id);

/** The limits of signing up and cancelling. They bind members, not the roster. */
const limits = {
  signupOpensAt: Type.Optional(
    Nullable(
      TimestampInput({
        description: 'From when members sign up: before `startsAt`. Null: at once.',
        examples: ['2026-04-02T18:00:00+02:00'],
      }),
    ),
  ),
  signupClosesAt: Type.Optional(
    Nullable(
      TimestampInput({
        description:
          'Until when members sign up: after `signupOpensAt`, and not after `startsAt`. Null: until the start.',
        examples: ['2031-05-01T14:00:00+02:00'],
      }),
    ),
  ),
  cancelUntil: Type.Optional(
    Nullable(
      TimestampInput({
        description: 'Until when members cancel their signup: not after `startsAt`. Null: until the start.',
        examples: ['2031-04-30T18:00:00+02:00'],
      }),
    ),
  ),
};

const written = {
  title: TextInput('line', { minLength: 1, maxLength: 200 }),
  startsAt: TimestampInput(),
  endsAt: TimestampInput({
    description: 'After `startsAt`, by 31 days at most.',
    examples: ['2031-05-01T20:00:00+02:00'],
  }),
  capacity: Type.Integer({ minimum: 1, maximum: 10_000 }),
  location: Type.Optional(Nullable(TextInput('line', { maxLength: 200 }))),
  description: Type.Optional(Nullable(TextInput('block', { maxLength: 10_000 }))),
  ...limits,
};

const exampleRequest = {
  title: exampleRow.title,
  startsAt: '2031-05-01T18:00:00+02:00',
  endsAt: '2031-05-01T20:00:00+02:00',
  capacity: exampleRow.capacity,
  location: exampleRow.location,
  description: exampleDetail.description,
  signupOpensAt: '2026-04-02T18:00:00+02:00',
  signupClosesAt: '2031-05-01T14:00:00+02:00',
  cancelUntil: '2031-04-30T18:00:00+02:00',
};

const rules = [period, ...signupWindow];

export const CreateShiftRequest = Strict(written, {
  $id: 'CreateShiftRequest',
  'x-rule': rules,
  examples: [exampleRequest],
});
export type CreateShiftRequest = Static<typeof CreateShiftRequest>;

/** PUT replaces the shift: an optional field that is absent becomes null, but a limit of signing up or cancelling keeps its value. */
export const UpdateShiftRequest = Strict(
  { ...written, version: Type.Optional(VersionInput()) },
  { $id: 'UpdateShiftRequest', 'x-rule': rules, examples: [{ ...exampleRequest, version: 1 }] },
);
export type UpdateShiftRequest = Static<typeof UpdateShiftRequest>;

export const batchFilter = Type.String({
  format: 'uuid',
  description: 'Shifts that were created together.',
  examples: [BATCH_ID],
});

/** The batch of a deletion, and its first moment. */
export const DeleteShiftsQuery = Strict({
  batchId: batchFilter,
  from: Type.Optional(TimestampInput({ description: 'Only those that start at this moment or later.' })),
});
export type DeleteShiftsQuery = Static<typeof DeleteShiftsQuery>;

export const SHIFT_SORT = 'startsAt';
export const SHIFT_SORTS = ['startsAt', 'title', 'createdAt'] as const;

/** A window; a shift matches when any part of it is in the window. */
export const windowFilter = {
  from: Type.Optional(TimestampInput({ description: 'Shifts that end after this moment.' })),
  to: Type.Optional(
    TimestampInput({
      description: 'Shifts that start before this moment, which is not before `from`.',
      examples: ['2031-05-08T00:00:00+02:00'],
    }),
  ),
};

export const ShiftListQuery = ListQuery(
  {
    ...windowFilter,
    startsFrom: Type.Optional(
      TimestampInput({
        description: 'Shifts that start at this moment or later.',
        examples: ['2031-05-01T00:00:00+02:00'],
      }),
    ),
    signedUp: Type.Optional(
      MemberFilter('Shifts that this member is signed up for: the id of a member, or `me`.'),
    ),
    waiting: Type.Optional(OneOf(['me'], { description: 'Shifts in which the caller waits for a place.' })),
    hasFreeSlots: Type.Optional(OneOf(['true'], { description: 'Shifts with a free place.' })),
    signupOpen: Type.Optional(
      OneOf(['true'], {
        description:
          'Shifts that have not started and for which members can sign up now, if a place is free.',
      }),
    ),
    batchId: Type.Optional(batchFilter),
    q: Type.Optional(SearchText('the title', 'clean')),
  },
  SHIFT_SORTS,
  SHIFT_SORT,
  { 'x-rule': window },
);
export type ShiftListQuery = Static<typeof ShiftListQuery>;
