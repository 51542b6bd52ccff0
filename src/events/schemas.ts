import { type Static, Type } from '@sinclair/typebox';
import { ANNA, BEN, EVENT_ID, SHIFT_ID } from '../examples.js';
import { ListQuery } from '../resource/pagination.js';
import { Id, MemberFilter, Nullable, OneOf, SomeOf, Timestamp } from '../validation/schemas.js';

/** A value of a changed field. */
type Value = string | number | boolean | null;
const value = { type: ['string', 'number', 'boolean', 'null'] };

/** The values of the changed fields, by name. */
const Changes = () =>
  Type.Unsafe<Record<string, { from: Value; to: Value }>>({
    type: 'object',
    additionalProperties: {
      type: 'object',
      required: ['from', 'to'],
      properties: { from: value, to: value },
    },
    description:
      'The changed fields and their values. Of what was created `from` is null, of what was deleted `to`. Of a signup only `promotedAt`, ' +
      'if the member waited and got the place.',
  });

const exampleRow = {
  id: EVENT_ID,
  sequence: 41,
  type: 'shift.changed',
  at: '2026-04-03T18:30:00.104207Z',
  subjectId: SHIFT_ID,
  subjectTitle: null,
  actorId: ANNA.id,
  memberId: null,
  changes: { capacity: { from: 6, to: 8 } },
  fields: ['description'],
};

/** @param types the types of the events of all resources */
export const EventDto = (types: readonly string[]) =>
  Type.Object(
    {
      id: Id(),
      sequence: Type.Integer({
        minimum: 1,
        description: 'The number in the club, in the order of commits and without a gap.',
      }),
      type: OneOf(types, { description: 'Skip types that you do not know: more may be added.' }),
      at: {
        ...Timestamp(),
        description: 'When the change was made. It may run backwards from one event to the next.',
      },
      subjectId: {
        ...Id(),
        description: 'The task, shift, member or club; of a signup, a wait and of attendance the shift.',
      },
      subjectTitle: Nullable(
        Type.String({
          description:
            'Of what was deleted, such as a task or a shift. Null if it has none, once a member was erased who deleted it or whom it was about, and once a member whom it was about was deleted or merged.',
        }),
      ),
      actorId: Nullable({ ...Id(), description: 'The member who made the change; null: an operator.' }),
      memberId: Nullable({
        ...Id(),
        description: 'The member whom it is about: of a task its assignee, or if it has none the one before.',
      }),
      changes: Changes(),
      fields: Type.Array(Type.String(), {
        description:
          'The names of the changed fields whose values are not shown, such as a title, in alphabetical order.',
      }),
    },
    {
      $id: 'EventDto',
      examples: [
        exampleRow,
        {
          ...exampleRow,
          id: '019d54a1-20f0-7b0a-a2c9-84d3f6e1075c',
          sequence: 42,
          type: 'signup.created',
          at: '2026-04-03T19:02:11.530912Z',
          actorId: BEN.id,
          memberId: BEN.id,
          changes: {},
          fields: [],
        },
      ],
    },
  );
export type EventDto = Static<ReturnType<typeof EventDto>>;

export const EVENT_SORT = 'sequence';
export const EVENT_SORTS = ['sequence'] as const;

const afterGoesForward = {
  holds: ({ after, sort }: Record<string, unknown>) => after === undefined || sort !== `-${EVENT_SORT}`,
  pointer: '/after',
  detail: 'This needs the order sort=sequence.',
};

/** @param types the types of the events of all resources */
export const EventListQuery = (types: readonly string[]) =>
  ListQuery(
    {
      after: Type.Optional(
        Type.String({
          format: 'uuid',
          description: 'The id of an event: only those that follow it. Beside a cursor it is not read.',
          examples: [EVENT_ID],
        }),
      ),
      type: Type.Optional(SomeOf(types, { description: 'Events of one of these types.' })),
      subjectId: Type.Optional(
        Type.String({
          format: 'uuid',
          description: 'Events of this task, shift, member or club.',
          examples: [SHIFT_ID],
        }),
      ),
      memberId: Type.Optional(
        MemberFilter('The id of a member for events about them, `me` for those about you.'),
      ),
      actorId: Type.Optional(
        Type.String({
          pattern: '^(me|none|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$',
          description: 'The id of a member for their changes, `me` for yours, `none` for those of operators.',
          examples: ['me'],
        }),
      ),
    },
    EVENT_SORTS,
    EVENT_SORT,
    { 'x-rule': afterGoesForward },
  );
export type EventListQuery = Static<ReturnType<typeof EventListQuery>>;
