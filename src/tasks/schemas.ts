import { type Static, Type } from '@sinclair/typebox';
import { ListQuery } from '../http/page.js';
import {
  Id,
  Nullable,
  OneOf,
  SearchText,
  SomeOf,
  Strict,
  TextInput,
  Timestamp,
  TimestampInput,
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

export const TaskListDto = Type.Object(listed, { $id: 'TaskListDto' });
export type TaskListDto = Static<typeof TaskListDto>;

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
  { $id: 'TaskDetailDto' },
);
export type TaskDetailDto = Static<typeof TaskDetailDto>;

const title = TextInput('line', { minLength: 1, maxLength: 200 });
const description = Nullable(TextInput('block', { maxLength: 10_000 }));

export const CreateTaskRequest = Strict(
  {
    title,
    description: Type.Optional(description),
    dueAt: Type.Optional(Nullable(TimestampInput())),
    assigneeId: Type.Optional(Nullable(Id())),
  },
  { $id: 'CreateTaskRequest', examples: [{ title: 'Order new oars', dueAt: '2031-05-01T18:00:00+02:00' }] },
);
export type CreateTaskRequest = Static<typeof CreateTaskRequest>;

/** A JSON Merge Patch (RFC 7396): what is absent stays, null clears. */
export const UpdateTaskRequest = Strict(
  {
    title: Type.Optional(title),
    description: Type.Optional(description),
    dueAt: Type.Optional(Nullable(TimestampInput())),
    assigneeId: Type.Optional(Nullable(Id())),
    state: Type.Optional(OneOf(TASK_STATES)),
    version: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
  },
  { $id: 'UpdateTaskRequest', examples: [{ state: 'Assigned', version: 1 }, { description: null }] },
);
export type UpdateTaskRequest = Static<typeof UpdateTaskRequest>;

export const TASK_SORTS = ['createdAt', 'updatedAt', 'dueAt', 'title'] as const;

export const TaskListQuery = ListQuery(
  {
    state: Type.Optional(SomeOf(TASK_STATES, { description: 'Tasks in one of these states.' })),
    assigneeId: Type.Optional(
      Type.String({
        format: 'assignee',
        description: 'Tasks of this member; `me` for your own, `none` for open ones.',
      }),
    ),
    dueBefore: Type.Optional(TimestampInput()),
    dueAfter: Type.Optional(TimestampInput()),
    q: Type.Optional(SearchText('the title')),
  },
  TASK_SORTS,
);
export type TaskListQuery = Static<typeof TaskListQuery>;
