/**
 * What the client's types allow and forbid. Nothing runs here: `make check` compiles it, and an
 * expected error that does not occur is an error.
 */

import {
  type Client,
  type ClientOptions,
  type ClubEvent,
  type CreateOptions,
  createClient,
  type EventType,
  isProblem,
  type List,
  type Problem,
  type ProblemCode,
  type ProblemError,
  type RetryLimits,
  type ShiftDetailDto,
  type ShiftListDto,
  type ShiftSignupDto,
  type SignupListDto,
  type TaskDetailDto,
  type TaskListDto,
  type TaskState,
  type UnknownEvent,
} from '../../client/src/index.js';
import type { Role } from '../../src/roles.js';
import type { TaskDetailDto as ServersTask } from '../../src/tasks/schemas.js';

type Equal<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;
type Expect<True extends true> = True;

export type Expectations = [
  Expect<Equal<ProblemError['code'], ProblemCode>>,
  Expect<'shift_full' extends ProblemCode ? true : false>,
  Expect<string extends ProblemCode ? false : true>,
  Expect<Equal<NonNullable<Problem['requiredRole'] | Problem['yourRole']>, Role>>,
  Expect<Equal<NonNullable<Problem['allowedTransitions']>, TaskState[]>>,
  Expect<Equal<NonNullable<Problem['currentState'] | Problem['requestedState']>, TaskState>>,
  Expect<Equal<TaskState, 'Open' | 'Assigned' | 'InProgress' | 'Review' | 'Done'>>,
  Expect<Equal<TaskDetailDto, ServersTask>>,
  Expect<Equal<Awaited<ReturnType<Client['clubs']['current']>>['role'], Role>>,
  Expect<Equal<Awaited<ReturnType<Client['shifts']['signUp']>>, ShiftSignupDto>>,
  Expect<Equal<ReturnType<Client['tasks']['list']>, List<TaskListDto>>>,
  Expect<Equal<Awaited<ReturnType<Client['tasks']['delete']>>, void>>,
  Expect<Equal<Exclude<ClubEvent['type'], UnknownEvent['type']>, EventType>>,
  Expect<'task.created' extends EventType ? true : false>,
  Expect<string extends EventType ? false : true>,
];

/** Never called: an optional value can be passed on, with exactOptionalPropertyTypes. */
export async function neverCalledWithOptions(
  task: TaskDetailDto,
  shift: ShiftDetailDto,
  { clubId, retry, timeoutMs, fetch, wait }: Partial<ClientOptions>,
  { attempts, withinMs }: RetryLimits,
  { signal, idempotencyKey }: CreateOptions,
  optional: { q?: string; role?: Role; from?: Date; title?: string; startsAt?: Date },
): Promise<void> {
  const { q, role, from, title, startsAt } = optional;
  const client = createClient({ baseUrl: '', token: '', clubId, retry, timeoutMs, fetch, wait });
  createClient({ baseUrl: '', token: '', retry: { attempts, withinMs } });
  // @ts-expect-error: the URL is required
  createClient({ baseUrl: undefined, token: '' });

  client.shifts.list({ q, from, hasFreeSlots: undefined }, { signal });
  client.tasks.list({ q, dueBefore: from });
  client.members.list({ q, role });

  await client.tasks.create({ title: 'Rake', dueAt: from }, { signal, idempotencyKey });
  await client.tasks.update(task, { title, dueAt: from });
  await client.shifts.update(shift, { title, startsAt });
  // @ts-expect-error: a required field has a value
  await client.tasks.create({ title });
  // @ts-expect-error: a required field has a value
  await client.shifts.replace(shift, { title: 'Bar', startsAt, endsAt: new Date(), capacity: 1 });
}

/** Never called. */
export async function neverCalled(
  task: TaskDetailDto,
  shift: ShiftDetailDto,
  row: ShiftListDto,
): Promise<void> {
  const client = createClient({ baseUrl: 'http://127.0.0.1:3000', token: async () => 'token' });
  // @ts-expect-error: a token is required
  createClient({ baseUrl: 'http://127.0.0.1:3000' });

  client.tasks.list({ state: ['Open'], dueBefore: new Date(), sort: '-dueAt', limit: 10 });
  // @ts-expect-error: there is no such state
  client.tasks.list({ state: ['Closed'] });
  // @ts-expect-error: there is no such order
  client.tasks.list({ sort: 'state' });
  // @ts-expect-error: there is no such filter
  client.tasks.list({ status: ['Open'] });
  const { items, next } = await client.tasks.list({ sort: 'title' }).page();
  items satisfies TaskListDto[];
  client.tasks.list({ sort: 'title', cursor: next });
  // @ts-expect-error: there is no next page at the end
  next satisfies string;
  // @ts-expect-error: a cursor is a string
  client.members.list({ cursor: 1 });
  client.shifts.list({ hasFreeSlots: true, signedUp: 'me', from: new Date() });
  client.signups.list({ memberId: 'me', from: new Date() }) satisfies List<SignupListDto>;
  client.attendance.list({ memberId: 'me', from: new Date(), sort: '-startsAt' });
  client.hours.list({ memberId: 'me', to: new Date(), sort: '-memberName' });
  // @ts-expect-error: records have no order by name
  client.attendance.list({ sort: 'memberName' });
  // @ts-expect-error: hours have no start
  client.hours.list({ sort: 'startsAt' });
  const season = { title: 'Training', startsAtLocal: '', endsAtLocal: '', until: '' };
  (await client.shifts.repeat({ ...season, capacity: 1, every: 'day' })) satisfies ShiftListDto[];
  // @ts-expect-error: there is no such frequency
  await client.shifts.repeat({ ...season, capacity: 1, every: 'month' });
  // @ts-expect-error: there is no way to ask for full shifts
  client.shifts.list({ hasFreeSlots: false });

  await client.tasks.create({ title: 'Rake', dueAt: new Date() });
  // @ts-expect-error: a task has a title
  await client.tasks.create({ description: 'Rake' });
  // @ts-expect-error: there is no such field
  await client.tasks.create({ title: 'Rake', priority: 1 });
  // @ts-expect-error: a copy has the fields that it names, and no id
  await client.tasks.create(task);
  const { title, description, dueAt } = task;
  await client.tasks.create({ title, description, dueAt });

  await client.tasks.update(task, { description: null });
  // @ts-expect-error: the version is required
  await client.tasks.update(task.id, { title: 'Rake' });
  // @ts-expect-error: the version is of the task
  await client.tasks.update(task, { version: 1 });
  // @ts-expect-error: a title cannot be cleared
  await client.tasks.update(task, { title: null });
  // @ts-expect-error: only the changed fields are sent
  await client.tasks.update(task, { ...task, title: 'Rake' });
  await client.tasks.move(task, 'Review');
  // @ts-expect-error: there is no such state
  await client.tasks.move(task, 'review');

  await client.shifts.update(shift, { capacity: 3 });
  // @ts-expect-error: the description is not in a row of a list, and would be cleared
  await client.shifts.update(row, { capacity: 3 });
  // @ts-expect-error: a capacity is a number
  await client.shifts.update(shift, { capacity: '3' });
  // @ts-expect-error: only the changed fields are sent
  await client.shifts.update(shift, { ...shift, capacity: 3 });
  // @ts-expect-error: the fields that the service sets are not sent
  await client.shifts.replace(shift, { ...shift, capacity: 3 });
  // @ts-expect-error: nor are a row's
  await client.shifts.create(row);
  const { startsAt, endsAt, capacity, location } = shift;
  await client.shifts.replace(shift, { title: shift.title, startsAt, endsAt, capacity, location });
  // @ts-expect-error: a task is not a place in a shift
  const signup: TaskDetailDto = await client.shifts.signUp(shift.id);

  for await (const row of client.tasks.list()) {
    row.title satisfies string;
    // @ts-expect-error: only the task itself has the description
    row.description satisfies string;
  }
  try {
    await client.shifts.signUp(signup.id);
  } catch (error) {
    if (isProblem(error, 'shift_full', 'already_signed_up')) {
      error.code satisfies 'shift_full' | 'already_signed_up';
      // @ts-expect-error: it is one of the two
      error.code satisfies 'shift_in_past';
    }
    // @ts-expect-error: there is no such code
    isProblem(error, 'shift_is_full');
  }
}

/** Never called: events are a union by their type, and what is left has a type that this client does not know. */
export async function neverCalledWithEvents(client: Client, after?: string): Promise<void> {
  client.events.list({ type: ['task.created'], memberId: 'me', sort: '-sequence', limit: 1 });
  // @ts-expect-error: there is no such type
  client.events.list({ type: ['task.lost'] });
  for await (const event of client.events.follow({ after, everyMs: 1_000 })) {
    event.id satisfies string;
    if (event.type === 'task.deleted') {
      event.type satisfies 'task.deleted';
      event.subjectTitle satisfies string | null;
      event.changes.state?.from satisfies string | number | boolean | null | undefined;
    } else {
      // @ts-expect-error: it is another type
      event.type === 'task.deleted';
    }
    // @ts-expect-error: there is no such type
    if (event.type === 'task.lost') {
      return;
    }
  }
}

/** Never called: one function for each known type handles all of the union but the unknown rest. */
export function neverCalledWithEvent(event: ClubEvent, known: Record<EventType, () => void>): void {
  if (isKnown(event, known)) {
    known[event.type]();
  } else {
    event satisfies UnknownEvent;
  }
}

function isKnown(event: ClubEvent, known: object): event is Exclude<ClubEvent, UnknownEvent> {
  return event.type in known;
}
