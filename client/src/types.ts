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
export type SignupListDto = Schemas['SignupListDto'];
export type WaitDto = Schemas['WaitDto'];
export type AttendanceDto = Schemas['AttendanceDto'];
export type ShiftAttendanceDto = Schemas['ShiftAttendanceDto'];
export type RecordAttendanceRequest = Schemas['RecordAttendanceRequest'];
export type HoursDto = Schemas['HoursDto'];
export type CalendarLinkDto = Schemas['CalendarLinkDto'];
export type MemberDataDto = Schemas['MemberDataDto'];

export type TaskState = TaskDetailDto['state'];
export type Role = ClubDto['role'];

/** The body of an error (RFC 9457). */
export type Problem = Schemas['Problem'];
/** Every code of an error. Programs should distinguish errors by it: a code never changes its meaning. */
export type ProblemCode = Problem['code'];

/**
 * The same fields; a time may be a Date, and an optional field may be undefined, which is the same as absent. So optional
 * values can be passed on with exactOptionalPropertyTypes.
 */
export type Timed<Fields, Times extends keyof Fields = never> = {
  [Field in keyof Fields]:
    | Fields[Field]
    | (Field extends Times ? Date : never)
    | (object extends Pick<Fields, Field> ? undefined : never);
};

/** The fields of a body, and no object that was read: the service rejects fields that it sets itself, such as the id. */
export type Body<Fields, Times extends keyof Fields = never> = Timed<Fields, Times> & { id?: never };

export type CreateTaskRequest = Body<Schemas['CreateTaskRequest'], 'dueAt'>;
/** The changes to a task: an absent field keeps its value, null clears it. The version comes from the task. */
export type TaskChanges = Body<Omit<Schemas['UpdateTaskRequest'], 'version'>, 'dueAt'>;
type ShiftTime = 'startsAt' | 'endsAt' | 'signupOpensAt' | 'signupClosesAt' | 'cancelUntil';
export type CreateShiftRequest = Body<Schemas['CreateShiftRequest'], ShiftTime>;
/** The changes to a shift: an absent field keeps its value, null clears it. */
export type ShiftChanges = Body<Partial<Schemas['CreateShiftRequest']>, ShiftTime>;

export type CreateMemberRequest = Body<Schemas['CreateMemberRequest']>;
/** A member of an import, who needs a reference. */
export type ImportedMember = Body<Schemas['ImportMembersRequest']['members'][number]>;
/** The changes to a member: an absent field keeps its value, null clears it. */
export type MemberChanges = Body<Schemas['UpdateMemberRequest']>;

/** The query string of a list. `cursor` is the `next` of a page with the same filters and order. */
export type Query<Id extends keyof operations> = NonNullable<operations[Id]['parameters']['query']>;

/** A rule that creates shifts: local times of the club. */
export type ShiftRepeat = Timed<NonNullable<Schemas['CreateShiftBatchRequest']['repeat']>>;

export type TaskFilter = Timed<Query<'listTasks'>, 'dueBefore' | 'dueAfter'>;
export type MemberFilter = Timed<Omit<Query<'listMembers'>, 'hasLogin'>> & {
  /** Members who have used the service, or who have not. */
  hasLogin?: boolean | undefined;
};
export type ShiftFilter = Timed<Omit<Query<'listShifts'>, 'hasFreeSlots' | 'signupOpen'>, 'from' | 'to'> & {
  /** Shifts with a free place. */
  hasFreeSlots?: true | undefined;
  /** Shifts that have not started and for which members can sign up now. */
  signupOpen?: true | undefined;
};

export type SignupFilter = Timed<Query<'listSignups'>, 'from' | 'to'>;
/** `from` is inclusive, `to` exclusive; both are about the start of the shift. */
export type AttendanceFilter = Timed<Query<'listAttendance'>, 'from' | 'to'>;
/** `from` and `to` as for attendance. */
export type HoursFilter = Timed<Query<'listHours'>, 'from' | 'to'>;

export type EventFilter = Timed<Query<'listEvents'>>;

/** The types of events that this client knows. */
export type EventType = Schemas['EventDto']['type'];

type EventOf<Type extends string> = Omit<Schemas['EventDto'], 'type'> & { type: Type };
/** A text that is no known type. It has no value: only the compiler knows it. */
declare enum UnknownEventType {
  Unknown = 'unknown',
}
/** An event of a type that a newer service has. Skip it: it is what is left after the types that you handle. */
export type UnknownEvent = EventOf<UnknownEventType>;
/** An event: a union by its `type`. */
export type ClubEvent = { [Type in EventType]: EventOf<Type> }[EventType] | UnknownEvent;

/** An object that was read, with its version. */
export interface Versioned {
  id: string;
  version: number;
}

/** The options of every method. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
}

export interface FollowOptions extends CallOptions {
  /** The id of the last event that you have read; without it, the loop begins with the oldest event. */
  after?: string | undefined;
  /** The mean time between two requests while nothing is new, in milliseconds; 5 seconds by default. */
  everyMs?: number | undefined;
}

/** The options of methods that create something. */
export interface CreateOptions extends CallOptions {
  /**
   * Your own key, for a request that you may repeat after a restart; otherwise the client generates one. A new intent needs
   * a new key: a repeated request returns the first response, not the current state.
   */
  idempotencyKey?: string | undefined;
}

export type OperationId = keyof typeof routes;

/** The body of an operation's success; undefined for an operation without one. */
export type Answered<Id extends OperationId> = operations[Id]['responses'] extends
  | { 200: { content: { 'application/json': infer Body } } }
  | { 201: { content: { 'application/json': infer Body } } }
  ? Body
  : undefined;
