import { type Static, Type } from '@sinclair/typebox';
import { BATCH_ID } from '../examples.js';
import {
  CalendarDate,
  LocalTimeInput,
  Named,
  Nullable,
  OneOf,
  type Rule,
  Strict,
} from '../validation/schemas.js';
import { CreateShiftRequest } from './schemas.js';

/** The most shifts that one rule can create. */
export const MOST_SHIFTS = 366;

const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;
const DAY_MS = 86_400_000;

const weekdaysOnlyByWeek: Rule = {
  holds: ({ every, weekdays }) => weekdays === undefined || every !== 'day',
  pointer: '/weekdays',
  detail: 'This needs `"every": "week"`.',
};

const weekdaysOfStart: Rule = {
  holds: ({ startsAtLocal, weekdays }) => {
    const start = WEEKDAYS[weekdayOf(dayOf(String(startsAtLocal)))];
    return start === undefined || !Array.isArray(weekdays) || weekdays.includes(start);
  },
  pointer: '/weekdays',
  detail: 'The weekday of `startsAtLocal` must be among these.',
};

const oneOfBoth: Rule = {
  holds: ({ shifts, repeat }) => (shifts === undefined) !== (repeat === undefined),
  pointer: '/repeat',
  detail: 'Exactly one of `shifts` and `repeat` is needed.',
};

/** The day of a date or local time, counted from 1 January 1970; NaN when it is not in the calendar. */
const dayOf = (text: string): number => Date.parse(`${text.slice(0, 10)}T00:00:00Z`) / DAY_MS;

/** The weekday of a day, counted from Monday: 1 January 1970 was a Thursday. */
const weekdayOf = (day: number): number => (day + 3) % 7;

/** The dates on which a rule starts a shift, at most one more than allowed. Dates need no time zone. */
export function datesOf({
  startsAtLocal,
  every,
  interval = 1,
  weekdays,
  until,
  except = [],
}: Repeat): string[] {
  const first = dayOf(startsAtLocal);
  const offset = weekdayOf(first);
  const chosen = weekdays?.map((weekday) => WEEKDAYS.indexOf(weekday)) ?? [offset];
  const excepted = new Set(except.map(dayOf));
  const isStart = (day: number) =>
    !excepted.has(day) &&
    (every === 'day'
      ? (day - first) % interval === 0
      : chosen.includes(weekdayOf(day)) && Math.floor((day - first + offset) / 7) % interval === 0);
  const dates: string[] = [];
  for (let day = first; day <= dayOf(until) && dates.length <= MOST_SHIFTS; day += 1) {
    if (isStart(day)) {
      dates.push(new Date(day * DAY_MS).toISOString().slice(0, 10));
    }
  }
  return dates;
}

const closesAfterOpening: Rule = {
  holds: ({ signupOpensBefore: opens, signupClosesBefore: closes }) =>
    typeof opens !== 'number' || typeof closes !== 'number' || closes < opens,
  pointer: '/signupClosesBefore',
  detail: 'This must be less than `signupOpensBefore`.',
};

/** The most minutes before a start: a year. */
const MOST_MINUTES = 525_600;

const minutesBefore = (minimum: number, description: string) =>
  Type.Optional(
    Nullable(
      Type.Integer({
        minimum,
        maximum: MOST_MINUTES,
        description: `${description} In minutes of real time before each start; null or absent: no such limit.`,
      }),
    ),
  );

const { title, capacity, location, description } = CreateShiftRequest.properties;

const Repeat = Strict(
  {
    title,
    capacity,
    location,
    description,
    signupOpensBefore: minutesBefore(1, 'When sign-up opens.'),
    signupClosesBefore: minutesBefore(0, 'When sign-up closes.'),
    cancelUntilBefore: minutesBefore(0, 'Until when members cancel their signup.'),
    startsAtLocal: LocalTimeInput({
      description: 'The first start, as the clocks of the club show it, without an offset.',
      examples: ['2031-05-06T19:00'],
    }),
    endsAtLocal: LocalTimeInput({
      description: 'The first end. Every shift ends as many days after its start, at this time.',
      examples: ['2031-05-06T21:30'],
    }),
    every: OneOf(['day', 'week']),
    interval: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 52,
        description: 'Every so many days or weeks; 1 if absent. Weeks begin on Monday.',
      }),
    ),
    weekdays: Type.Optional(
      Type.Array(OneOf(WEEKDAYS), {
        minItems: 1,
        uniqueItems: true,
        description: 'Only with `week`. The weekday of the start must be among them; it is the default.',
      }),
    ),
    until: {
      ...CalendarDate(),
      description: 'The last day on which a shift can start.',
      examples: ['2031-09-30'],
    },
    except: Type.Optional(
      Type.Array(CalendarDate(), {
        maxItems: 366,
        description:
          'Dates of the rule on which no shift starts, such as holidays. A date that the rule does not give is ignored.',
      }),
    ),
  },
  { 'x-rule': [weekdaysOnlyByWeek, weekdaysOfStart, closesAfterOpening] },
);
export type Repeat = Static<typeof Repeat>;

export const CreateShiftBatchRequest = Strict(
  {
    shifts: Type.Optional(Type.Array(Named(CreateShiftRequest), { minItems: 1, maxItems: 200 })),
    repeat: Type.Optional(Repeat),
  },
  {
    $id: 'CreateShiftBatchRequest',
    'x-rule': oneOfBoth,
    description: 'Exactly one of `shifts` and `repeat`.',
    examples: [
      {
        repeat: {
          title: 'Training',
          capacity: 12,
          location: 'Boathouse',
          signupOpensBefore: 20160,
          signupClosesBefore: 60,
          cancelUntilBefore: 1440,
          startsAtLocal: '2031-05-06T19:00',
          endsAtLocal: '2031-05-06T21:30',
          every: 'week',
          weekdays: ['TU', 'TH'],
          until: '2031-05-13',
          except: ['2031-05-08'],
        },
      },
      { shifts: CreateShiftRequest.examples },
    ],
  },
);

const exampleShift = {
  id: '019d5b3c-77a0-7e4b-b0f2-5a1c9d3e8f60',
  title: 'Training',
  location: 'Boathouse',
  startsAt: '2031-05-06T17:00:00Z',
  endsAt: '2031-05-06T19:30:00Z',
  capacity: 12,
  signupCount: 0,
  freeSlots: 12,
  isSignedUp: false,
  waitCount: 0,
  isWaiting: false,
  signupOpensAt: '2031-04-22T17:00:00Z',
  signupClosesAt: '2031-05-06T16:00:00Z',
  cancelUntil: '2031-05-05T17:00:00Z',
  batchId: BATCH_ID,
  version: 1,
};

/** The shifts of the example of a rule. */
export const exampleBatch = [
  exampleShift,
  {
    ...exampleShift,
    id: '019d5b3c-77a0-7f19-8d36-20b7e4c5a981',
    startsAt: '2031-05-13T17:00:00Z',
    endsAt: '2031-05-13T19:30:00Z',
    signupOpensAt: '2031-04-29T17:00:00Z',
    signupClosesAt: '2031-05-13T16:00:00Z',
    cancelUntil: '2031-05-12T17:00:00Z',
  },
];
