import type { components, operations } from './generated/document.js';
import type { routes } from './generated/operations.js';

export type Schemas = components['schemas'];

export type ClubDto = Schemas['ClubDto'];
export type MemberDto = Schemas['MemberDto'];
export type TaskListDto = Schemas['TaskListDto'];
export type TaskDetailDto = Schemas['TaskDetailDto'];
export type ShiftListDto = Schemas['ShiftListDto'];
export type ShiftDetailDto = Schemas['ShiftDetailDto'];
export type ShiftSignupDto = Schemas['ShiftSignupDto'];

export type TaskState = TaskDetailDto['state'];
export type Role = ClubDto['role'];

/** A refusal as it is sent (RFC 9457). */
export type Problem = Schemas['Problem'];
/** Every code that a refusal can have. It is what to switch on: a code never changes its meaning. */
export type ProblemCode = Problem['code'];

/** The same, with a Date wherever a time may stand. */
export type Timed<Fields, Times extends keyof Fields> = {
  [Field in keyof Fields]: Field extends Times ? Fields[Field] | Date : Fields[Field];
};

export type CreateTaskRequest = Timed<Schemas['CreateTaskRequest'], 'dueAt'>;
/** What to change of a task: what is absent stays, null clears. The version comes from the task. */
export type TaskChanges = Timed<Omit<Schemas['UpdateTaskRequest'], 'version'>, 'dueAt'>;
export type CreateShiftRequest = Timed<Schemas['CreateShiftRequest'], 'startsAt' | 'endsAt'>;

/** The query string of a list, but for its cursor. */
export type Query<Id extends keyof operations> = Omit<
  NonNullable<operations[Id]['parameters']['query']>,
  'cursor'
>;

export type TaskFilter = Timed<Query<'listTasks'>, 'dueBefore' | 'dueAfter'>;
export type MemberFilter = Query<'listMembers'>;
export type ShiftFilter = Timed<Omit<Query<'listShifts'>, 'hasFreeSlots'>, 'from' | 'to'> & {
  /** Shifts with a free place. */
  hasFreeSlots?: true;
};

/** Something that was read: the version says of which state of it the caller knows. */
export interface Versioned {
  id: string;
  version: number;
}

/** What every method takes beside its own. */
export interface CallOptions {
  /** Ends the call; it is rejected with the reason of the signal. */
  signal?: AbortSignal;
}

/** What methods take that make something. */
export interface MakeOptions extends CallOptions {
  /** A key of your own, when the same request may come again after a restart; otherwise the client makes one. */
  idempotencyKey?: string;
}

export type OperationId = keyof typeof routes;

/** The body of an operation's success; undefined where there is none. */
export type Answered<Id extends OperationId> = operations[Id]['responses'] extends
  | { 200: { content: { 'application/json': infer Body } } }
  | { 201: { content: { 'application/json': infer Body } } }
  ? Body
  : undefined;
