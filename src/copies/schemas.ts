import { type Static, Type } from '@sinclair/typebox';
import { AttendanceDto } from '../attendance/schemas.js';
import { CalendarLinkDto } from '../calendar/schemas.js';
import { EventDto } from '../events/schemas.js';
import { BEN, SHIFT_ID } from '../examples.js';
import { MemberDto } from '../members/schemas.js';
import { ShiftListDto } from '../shifts/schemas.js';
import { SignupListDto } from '../signups/schemas.js';
import { TaskListDto } from '../tasks/schemas.js';
import { IdParams, Named, Nullable, Timestamp } from '../validation/schemas.js';
import { WaitDto } from '../waits/schemas.js';

const description = Nullable(Type.String());
const Task = Type.Object({ ...TaskListDto.properties, description });
const Shift = Type.Object({
  ...ShiftListDto.properties,
  isSignedUp: Type.Boolean({ description: 'Whether the member is signed up.' }),
  isWaiting: Type.Boolean({ description: 'Whether the member waits.' }),
  description,
});

const CalendarLink = Type.Omit(CalendarLinkDto, ['url']);

/** What the examples of the other DTOs say about Ben. */
const example = {
  exportedAt: '2026-04-04T09:00:00.271828Z',
  member: { ...MemberDto.examples[1], externalUserId: 'ben' },
  signups: [SignupListDto.examples[0]],
  waits: [WaitDto.examples[1]],
  attendance: [AttendanceDto.examples[0]],
  tasksAssigned: [{ ...TaskListDto.examples[1], description: 'Two planks are loose.' }],
  tasksCreated: [],
  shiftsCreated: [],
  events: [EventDto([]).examples[1]],
  calendarLink: { createdAt: '2026-04-02T07:15:00Z', expiresAt: '2027-05-07T07:15:00Z' },
  storedResponses: [{ createdAt: '2026-04-03T19:02:11.530912Z', location: `/api/shifts/${SHIFT_ID}/signup` }],
};

export const MemberDataDto = Type.Object(
  {
    exportedAt: Timestamp(),
    member: Named(MemberDto),
    signups: Type.Array(Named(SignupListDto)),
    waits: Type.Array(Named(WaitDto)),
    attendance: Type.Array(Named(AttendanceDto)),
    tasksAssigned: Type.Array(Task),
    tasksCreated: Type.Array(Task),
    shiftsCreated: Type.Array(Shift),
    // Its name only: the types of events are known to routes.
    events: Type.Array(Named(EventDto([])), {
      description: 'Events about the member, and of changes that the member made.',
    }),
    calendarLink: Type.Unsafe<Static<typeof CalendarLink> | null>({
      ...CalendarLink,
      type: ['object', 'null'],
      description: 'Null: the member has no link, or it has expired.',
    }),
    storedResponses: Type.Array(
      Type.Object({
        createdAt: Timestamp(),
        location: Nullable(Type.String({ description: 'The header `Location` of the response.' })),
      }),
      { description: 'Responses that are stored for requests with an `Idempotency-Key`, for 24 hours.' },
    ),
  },
  { $id: 'MemberDataDto', examples: [example] },
);
export type MemberDataDto = Static<typeof MemberDataDto>;

export const CopiedMemberParams = IdParams('member', BEN.id);
