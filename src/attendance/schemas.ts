import { type Static, Type } from '@sinclair/typebox';
import { ANNA, BEN, STARTED_SHIFT_ID } from '../examples.js';
import { ListQuery } from '../resource/pagination.js';
import {
  Id,
  MemberFilter,
  Nullable,
  OneOf,
  OneOfOrNull,
  type Rule,
  Strict,
  Timestamp,
  TimestampInput,
  VersionInput,
} from '../validation/schemas.js';
import { window } from '../validation/window.js';

const STATUSES = ['Attended', 'Excused', 'NoShow'] as const;
/** 31 days, the longest shift. */
const MAX_MINUTES = 44_640;

const exampleRow = {
  shiftId: STARTED_SHIFT_ID,
  shiftTitle: 'Jetty repair',
  startsAt: '2026-03-27T16:00:00Z',
  endsAt: '2026-03-27T18:00:00Z',
  wasSignedUp: true,
  memberId: BEN.id,
  memberName: BEN.name,
  status: 'Attended',
  minutes: 105,
  recordedById: ANNA.id,
  recordedAt: '2026-03-27T18:10:00Z',
  version: 1,
};
/** Somebody who came without having signed up. */
const helper = { memberId: ANNA.id, memberName: ANNA.name, wasSignedUp: false, minutes: 120 };

const fields = {
  shiftId: Id(),
  shiftTitle: Type.String(),
  startsAt: Timestamp(),
  endsAt: Timestamp(),
  wasSignedUp: Type.Boolean({
    description:
      'Whether the member was signed up. Like the title and the times, as it was when the record was last changed.',
  }),
  memberId: Id(),
  memberName: Type.String(),
};
const minutes = Nullable(
  Type.Integer({ description: 'How long the member was there, in minutes. Null unless they attended.' }),
);
const recordedById = Nullable({ ...Id(), description: 'The member who changed the record last.' });

/** A record of a member and a shift. */
export const AttendanceDto = Type.Object(
  {
    ...fields,
    status: OneOf(STATUSES),
    minutes,
    recordedById,
    recordedAt: Timestamp(),
    version: Type.Integer({ minimum: 1 }),
  },
  {
    $id: 'AttendanceDto',
    examples: [
      exampleRow,
      {
        ...exampleRow,
        ...helper,
        shiftId: '019d1a70-52c0-7d0e-a3b4-61f7c0958e2d',
        shiftTitle: 'Spring regatta',
        startsAt: '2026-03-29T07:00:00Z',
        endsAt: '2026-03-29T09:00:00Z',
        recordedAt: '2026-03-29T09:30:00Z',
      },
    ],
  },
);
export type AttendanceDto = Static<typeof AttendanceDto>;

/** A member in the list of a shift, with the record if there is one. */
export const ShiftAttendanceDto = Type.Object(
  {
    ...fields,
    status: OneOfOrNull(STATUSES, { description: 'Null where nothing is recorded, like all after it.' }),
    minutes,
    recordedById,
    recordedAt: Nullable(Timestamp()),
    version: Nullable(Type.Integer({ minimum: 1 })),
  },
  {
    $id: 'ShiftAttendanceDto',
    examples: [
      {
        ...exampleRow,
        memberId: ANNA.id,
        memberName: ANNA.name,
        status: null,
        minutes: null,
        recordedById: null,
        recordedAt: null,
        version: null,
      },
      exampleRow,
    ],
  },
);
export type ShiftAttendanceDto = Static<typeof ShiftAttendanceDto>;

export const RecordAttendanceRequest = Strict(
  {
    status: OneOf(STATUSES),
    minutes: Type.Optional(
      Nullable(
        Type.Integer({
          minimum: 0,
          maximum: MAX_MINUTES,
          description:
            'How long the member was there, in minutes. Only with `Attended`. Absent or null: the length of the shift, rounded down.',
          examples: [exampleRow.minutes],
        }),
      ),
    ),
    version: Type.Optional(VersionInput()),
  },
  {
    $id: 'RecordAttendanceRequest',
    'x-rule': {
      holds: ({ status, minutes }) =>
        typeof minutes !== 'number' || status === undefined || status === 'Attended',
      pointer: '/minutes',
      detail: 'This goes with the status `Attended` only.',
    } satisfies Rule,
    examples: [{ status: exampleRow.status, minutes: exampleRow.minutes }],
  },
);
export type RecordAttendanceRequest = Static<typeof RecordAttendanceRequest>;

/** `from` is inclusive, unlike that of shifts: a season begins at midnight. */
const season = {
  memberId: Type.Optional(
    MemberFilter('Of this member: the id of a member, or `me`. A Member reads their own only.'),
  ),
  from: Type.Optional(
    TimestampInput({
      description: 'Shifts that start at this moment or later.',
      examples: ['2026-01-01T00:00:00+01:00'],
    }),
  ),
  to: Type.Optional(
    TimestampInput({
      description: 'Shifts that start before this moment, which is not before `from`.',
      examples: ['2027-01-01T00:00:00+01:00'],
    }),
  ),
};

export const ATTENDANCE_SORT = 'startsAt';
export const ATTENDANCE_SORTS = ['startsAt'] as const;
export const AttendanceListQuery = ListQuery(season, ATTENDANCE_SORTS, ATTENDANCE_SORT, { 'x-rule': window });
export type AttendanceListQuery = Static<typeof AttendanceListQuery>;

export const NAME_SORT = 'memberName';
export const NAME_SORTS = ['memberName'] as const;
export const ShiftAttendanceQuery = ListQuery({}, NAME_SORTS, NAME_SORT);

export const HoursDto = Type.Object(
  {
    memberId: Id(),
    memberName: Type.String(),
    shifts: Type.Integer({ minimum: 0, description: 'How many shifts the member attended.' }),
    minutes: Type.Integer({ minimum: 0, description: 'For how many minutes, in sum.' }),
    noShows: Type.Integer({ minimum: 0 }),
  },
  {
    $id: 'HoursDto',
    examples: [
      { memberId: ANNA.id, memberName: ANNA.name, shifts: 0, minutes: 0, noShows: 1 },
      { memberId: BEN.id, memberName: BEN.name, shifts: 1, minutes: exampleRow.minutes, noShows: 0 },
    ],
  },
);
export type HoursDto = Static<typeof HoursDto>;

export const HoursQuery = ListQuery(season, NAME_SORTS, NAME_SORT, { 'x-rule': window });
export type HoursQuery = Static<typeof HoursQuery>;

const shiftId = Type.String({
  format: 'uuid',
  description: 'The id of the shift, which may have been deleted.',
  examples: [STARTED_SHIFT_ID],
});

export const ShiftAttendanceParams = Strict({ id: shiftId });

export const AttendanceParams = Strict({
  id: shiftId,
  memberId: Type.String({ format: 'uuid', description: 'The id of the member.', examples: [BEN.id] }),
});
export type AttendanceParams = Static<typeof AttendanceParams>;
