import { type Static, Type } from '@sinclair/typebox';
import { ANNA, BEN, CLUB_ID, TASK_ID } from '../examples.js';
import { ListQuery } from '../resource/pagination.js';
import {
  Id,
  IdParams,
  Nullable,
  OneOf,
  SearchText,
  SomeOf,
  Strict,
  TextInput,
  Timestamp,
  TimestampInput,
  VersionInput,
} from '../validation/schemas.js';

/** The five states, in the order of the workflow. The steps between them are rows of app.task_transitions. */
export const TASK_STATES = ['Open', 'Assigned', 'InProgress', 'Review', 'Done'] as const;
export type TaskState = (typeof TASK_STATES)[number];

const listed = {
  id: Id(),
  title: Type.String(),
  state: OneOf(TASK_STATES),
  assigneeId: Nullable(Id()),
  assigneeName: Nullable(Type.String()),
  dueAt: Nullable(Timestamp()),
  createdAt: Timestamp(),
  updatedAt: Timestamp(),
  version: Type.Integer({ minimum: 1 }),
};

const exampleRow = {
  id: TASK_ID,
  title: 'Order new oars',
  state: 'Assigned',
  assigneeId: ANNA.id,
  assigneeName: ANNA.name,
  dueAt: '2031-05-01T16:00:00Z',
  createdAt: '2026-04-02T07:15:00Z',
  updatedAt: '2026-04-03T18:30:00Z',
  version: 2,
};

export const TaskListDto = Type.Object(listed, {
  $id: 'TaskListDto',
  examples: [
    exampleRow,
    {
      id: '019d3551-1700-79ad-bafc-ee2ac81401f0',
      title: 'Repair the jetty',
      state: 'InProgress',
      assigneeId: BEN.id,
      assigneeName: BEN.name,
      dueAt: null,
      createdAt: '2026-03-28T16:40:00Z',
      updatedAt: '2026-04-01T06:00:00.482913Z',
      version: 3,
    },
  ],
});
export type TaskListDto = Static<typeof TaskListDto>;

const exampleDetail = {
  ...exampleRow,
  clubId: CLUB_ID,
  description: 'Four pairs, the light ones.',
  createdById: ANNA.id,
  completedAt: null,
  allowedTransitions: ['Open', 'InProgress'],
};

export const TaskDetailDto = Type.Object(
  {
    ...listed,
    clubId: Id(),
    description: Nullable(Type.String()),
    createdById: Nullable(Id()),
    completedAt: Nullable(Timestamp()),
    allowedTransitions: Type.Array(OneOf(TASK_STATES), {
      description: 'The states that this caller may set now.',
    }),
  },
  {
    $id: 'TaskDetailDto',
    examples: [
      exampleDetail,
      {
        ...exampleDetail,
        state: 'Open',
        assigneeId: null,
        assigneeName: null,
        updatedAt: exampleRow.createdAt,
        version: 1,
        allowedTransitions: ['Assigned'],
      },
    ],
  },
);
export type TaskDetailDto = Static<typeof TaskDetailDto>;

export const TaskParams = IdParams('task', exampleRow.id);

const title = TextInput('line', { minLength: 1, maxLength: 200 });
const description = Nullable(TextInput('block', { maxLength: 10_000 }));
const assignee = Nullable({ ...Id(), description: 'The id of a member.' });

export const CreateTaskRequest = Strict(
  {
    title,
    description: Type.Optional(description),
    dueAt: Type.Optional(Nullable(TimestampInput())),
    assigneeId: Type.Optional(assignee),
  },
  {
    $id: 'CreateTaskRequest',
    examples: [
      { title: exampleRow.title, description: exampleDetail.description, dueAt: '2031-05-01T18:00:00+02:00' },
    ],
  },
);
export type CreateTaskRequest = Static<typeof CreateTaskRequest>;

/** A JSON Merge Patch (RFC 7396): an absent field keeps its value, null clears it. */
export const UpdateTaskRequest = Strict(
  {
    title: Type.Optional(title),
    description: Type.Optional(description),
    dueAt: Type.Optional(Nullable(TimestampInput())),
    assigneeId: Type.Optional(assignee),
    state: Type.Optional(
      OneOf(TASK_STATES, {
        description:
          'One of `allowedTransitions`. `Assigned` without `assigneeId` assigns an open task to yourself.',
      }),
    ),
    version: Type.Optional(VersionInput()),
  },
  { $id: 'UpdateTaskRequest', examples: [{ state: 'Assigned', version: 1 }, { description: null }] },
);
export type UpdateTaskRequest = Static<typeof UpdateTaskRequest>;

export const TASK_SORT = '-createdAt';
export const TASK_SORTS = ['createdAt', 'updatedAt', 'dueAt', 'title'] as const;

export const TaskListQuery = ListQuery(
  {
    state: Type.Optional(SomeOf(TASK_STATES, { description: 'Tasks in one of these states.' })),
    assigneeId: Type.Optional(
      Type.String({
        // `me`, `none` or a UUID.
        pattern: '^(me|none|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$',
        description:
          'The id of a member for their tasks, `me` for your own, `none` for tasks without an assignee.',
        examples: ['me'],
      }),
    ),
    dueBefore: Type.Optional(
      TimestampInput({
        description: 'Tasks that are due before this moment.',
        examples: ['2031-06-01T00:00:00+02:00'],
      }),
    ),
    dueAfter: Type.Optional(TimestampInput({ description: 'Tasks that are due after this moment.' })),
    q: Type.Optional(SearchText('the title', 'oars')),
  },
  TASK_SORTS,
  TASK_SORT,
);
export type TaskListQuery = Static<typeof TaskListQuery>;
