import { setTimeout as sleep } from 'node:timers/promises';
import { STATES, type State } from '../../setup/workflow.js';
import { contentOf, isDone, isUnknown, type Kind } from './history.js';
import type { Member, Recorded, Request } from './member.js';

/** The current rows of a club: all members work on the same few rows, so that they conflict. */
export interface SharedRows {
  /** `state` is undefined when it may have changed. */
  tasks: { id: string; version: number; state: State | undefined; uses: number }[];
  shifts: { id: string; version: number; capacity: number; uses: number }[];
  /** Shifts that have started, with the last known version of the record of each member; null when there is none. */
  started: { id: string; versions: Map<string, number | null>; uses: number }[];
  /** Whose membership Admins end and renew. */
  leavers: Member[];
  /** A counter that makes written texts unique. */
  count: number;
  /** The time after which keyed requests are not repeated. */
  end: () => boolean;
}

/** What Managers record. */
const RECORDS: { status: string; minutes?: number }[] = [
  { status: 'Attended' },
  { status: 'Attended', minutes: 45 },
  { status: 'Excused' },
  { status: 'NoShow' },
];

/** A row is not used after this many requests, to limit its unknown outcomes. */
const MOST_USES = 60;
const TASKS = 3;
const SHIFTS = 2;
const STARTED_SHIFTS = 1;
/** Unknown outcomes multiply what may be stored, and any of them may still happen to the record. */
const USES_OF_UNKNOWN = 8;

const COMING = { startsAt: '2101-05-01T10:00:00Z', endsAt: '2101-05-01T12:00:00Z' };
const STARTED = { startsAt: '2001-05-01T10:00:00Z', endsAt: '2001-05-01T12:00:00Z' };
const SHIFT_MINUTES = 120;

/** The Admin who enters members without a login, and merges them. Others send no request about these members. */
export const SECRETARY = 'secretary';

/** Sends one request of this kind; false when there is no suitable row, or the role is too low. */
export async function work(member: Member, shared: SharedRows, kind: Kind): Promise<boolean> {
  if ((kind === 'merge') !== (member.subject === SECRETARY)) {
    return false;
  }
  if (kind === 'merge') {
    return enterAndMerge(member, shared);
  }
  const isManager = member.role === 'Manager' || member.role === 'Admin';
  const isAllowed = /^delete|membership$/.test(kind)
    ? member.role === 'Admin'
    : isManager || !/^(create|put|assign|unassign|record|remove|read waits)/.test(kind);
  if (!isAllowed) {
    return false;
  }
  await (isManager && refill(member, shared));
  if (kind === 'create task') {
    await createTask(member, shared);
  } else if (kind === 'create shift') {
    await createShift(member, shared);
  } else if (kind.startsWith('list')) {
    await member.act({ kind, method: 'GET', path: `/api/${kind.slice(5)}` });
  } else if (kind.endsWith('membership')) {
    return setMembership(member, shared, kind);
  } else if (kind.endsWith('record')) {
    return workOnAttendance(member, shared, kind);
  } else {
    return kind.endsWith('task') ? workOnTask(member, shared, kind) : workOnShift(member, shared, kind);
  }
  return true;
}

async function refill(member: Member, shared: SharedRows): Promise<void> {
  shared.tasks = shared.tasks.filter(({ uses }) => uses < MOST_USES);
  shared.shifts = shared.shifts.filter(({ uses }) => uses < MOST_USES);
  shared.started = shared.started.filter(({ uses }) => uses < MOST_USES);
  if (shared.tasks.length < TASKS) {
    await createTask(member, shared);
  }
  if (shared.shifts.length < SHIFTS) {
    await createShift(member, shared);
  }
  if (shared.started.length < STARTED_SHIFTS) {
    await createShift(member, shared, STARTED);
  }
}

async function workOnTask(member: Member, shared: SharedRows, kind: Kind): Promise<boolean> {
  const task = pick(member, shared.tasks);
  if (task === undefined) {
    return false;
  }
  task.uses += 1;
  const { id } = task;
  const path = `/api/tasks/${id}`;
  let recorded: Recorded;
  if (kind === 'patch task') {
    const next = task.state && STATES[STATES.indexOf(task.state) + 1];
    const isStep = next !== undefined && member.random() < 0.3;
    const title = `${member.club.canary} ${nextOf(shared)}`;
    const named = isStep || member.random() < 0.8 ? task.version : undefined;
    recorded = await member.act({
      kind,
      method: 'PATCH',
      path,
      target: id,
      ...(named !== undefined && { named }),
      content: isStep ? `|${next}` : `${title}|`,
      body: { ...(isStep ? { state: next } : { title }), ...(named !== undefined && { version: named }) },
    });
  } else {
    recorded = await member.act({
      kind,
      method: kind === 'delete task' ? 'DELETE' : 'GET',
      path,
      target: id,
    });
  }
  const { status, code } = recorded.operation;
  if (status === 200 && recorded.body.version > task.version) {
    Object.assign(task, { version: recorded.body.version, state: recorded.body.state });
  } else if (code === 'task_version_conflict') {
    Object.assign(task, { version: Math.max(task.version, recorded.body.currentVersion), state: undefined });
  } else if (status === 404 || kind === 'delete task') {
    shared.tasks = shared.tasks.filter((other) => other !== task);
  }
  return true;
}

async function workOnShift(member: Member, shared: SharedRows, kind: Kind): Promise<boolean> {
  const shift = pick(member, shared.shifts);
  if (shift === undefined) {
    return false;
  }
  shift.uses += 1;
  const { id } = shift;
  const path = `/api/shifts/${id}`;
  const about = { kind, target: id };
  let recorded: Recorded;
  if (kind === 'sign up' || kind === 'wait') {
    recorded = await sendUntilKnown(member, shared, {
      ...about,
      method: 'POST',
      path: `${path}/${kind === 'wait' ? 'wait' : 'signup'}`,
      ...keyedAtTimes(member, shared, 0.3),
    });
  } else if (kind === 'cancel' || (kind === 'read signup' && member.random() < 0.5)) {
    recorded = await member.act({
      ...about,
      method: kind === 'cancel' ? 'DELETE' : 'GET',
      path: `${path}/signup`,
    });
  } else if (kind === 'assign' || kind === 'unassign' || kind === 'read signup') {
    const holder = pick(member, member.club.memberIds) ?? member.id;
    recorded = await member.act({
      ...about,
      holder,
      method: { assign: 'PUT', unassign: 'DELETE', 'read signup': 'GET' }[kind],
      path: `${path}/signups/${holder}`,
    });
  } else if (kind === 'stop waiting' || (kind === 'read wait' && isOfOneself(member))) {
    recorded = await member.act({
      ...about,
      method: kind === 'stop waiting' ? 'DELETE' : 'GET',
      path: `${path}/wait`,
    });
  } else if (kind === 'assign wait' || kind === 'remove wait' || kind === 'read wait') {
    const holder = pick(member, member.club.memberIds) ?? member.id;
    recorded = await member.act({
      ...about,
      holder,
      method: { 'assign wait': 'PUT', 'remove wait': 'DELETE', 'read wait': 'GET' }[kind],
      path: `${path}/waits/${holder}`,
    });
  } else if (kind === 'read waits') {
    recorded = await member.act({ ...about, method: 'GET', path: `${path}/waits` });
  } else if (kind === 'put shift') {
    const capacity = 1 + Math.floor(member.random() * 4);
    const title = `${member.club.canary} ${nextOf(shared)}`;
    recorded = await member.act({
      ...about,
      method: 'PUT',
      path,
      named: shift.version,
      content: `${title}|${capacity}`,
      capacity,
      body: { ...shiftOf(member, title, capacity), version: shift.version },
    });
  } else {
    recorded = await member.act({ ...about, method: kind === 'delete shift' ? 'DELETE' : 'GET', path });
  }
  const { status, code } = recorded.operation;
  if (status === 200 && recorded.body.version > shift.version) {
    shift.version = recorded.body.version;
  } else if (code === 'shift_version_conflict') {
    shift.version = Math.max(shift.version, recorded.body.currentVersion);
  } else if (code === 'shift_not_found' || kind === 'delete shift') {
    shared.shifts = shared.shifts.filter((other) => other !== shift);
  }
  return true;
}

/** Works on the record of a member and a shift. An Admin deletes the shift at times: records outlive it. */
async function workOnAttendance(member: Member, shared: SharedRows, kind: Kind): Promise<boolean> {
  const shift = pick(member, shared.started);
  if (shift === undefined) {
    return false;
  }
  const path = `/api/shifts/${shift.id}`;
  if (kind === 'remove record' && member.role === 'Admin' && member.random() < 0.1) {
    await member.act({ kind: 'delete shift', target: shift.id, method: 'DELETE', path });
    return true;
  }
  // A Member reads only one's own.
  const holder = (member.role !== 'Member' && pick(member, member.club.memberIds)) || member.id;
  const version = shift.versions.get(holder);
  const about = { kind, target: shift.id, holder, path: `${path}/attendance/${holder}` };
  let recorded: Recorded;
  if (kind === 'record') {
    const isNamed = typeof version === 'number' && member.random() < 0.8;
    const body = pick(member, RECORDS) ?? { status: 'NoShow' };
    recorded = await member.act({
      ...about,
      method: 'PUT',
      ...(isNamed && { named: version }),
      content: contentOf(body.status, body.status === 'Attended' ? (body.minutes ?? SHIFT_MINUTES) : null),
      body: { ...body, ...(isNamed && { version }) },
    });
  } else {
    recorded = await member.act({ ...about, method: kind === 'read record' ? 'GET' : 'DELETE' });
  }
  const { operation, body } = recorded;
  shift.uses += isUnknown(operation) ? USES_OF_UNKNOWN : 1;
  if (isDone(operation)) {
    shift.versions.set(holder, body?.version ?? null);
  } else if (operation.currentVersion !== undefined) {
    shift.versions.set(holder, operation.currentVersion);
  }
  return true;
}

/** Enters a member, puts them into shifts, and merges them into another one; then the merge is sent again. */
async function enterAndMerge(member: Member, shared: SharedRows): Promise<boolean> {
  const { club } = member;
  const displayName = `${club.canary} ${nextOf(shared)}`;
  const entered = await member.act({
    kind: 'enter member',
    method: 'POST',
    path: '/api/members',
    body: { displayName },
  });
  const holder = entered.operation.holder;
  if (holder === undefined) {
    return true;
  }
  const marker = `${club.canary} mark-${nextOf(shared)}`;
  const task = { title: displayName, description: marker, assigneeId: holder };
  await member.act({ kind: 'create task', method: 'POST', path: '/api/tasks', marker, holder, body: task });
  for (const shift of shared.shifts) {
    shift.uses += 1;
    const about = { target: shift.id, holder, method: 'PUT' };
    const path = `/api/shifts/${shift.id}`;
    const assigned = await member.act({ ...about, kind: 'assign', path: `${path}/signups/${holder}` });
    if (assigned.operation.code === 'shift_full') {
      await member.act({ ...about, kind: 'assign wait', path: `${path}/waits/${holder}` });
    }
  }
  const started = member.random() < 0.3 ? pick(member, shared.started) : undefined;
  if (started !== undefined) {
    const { operation } = await member.act({
      kind: 'record',
      target: started.id,
      holder,
      method: 'PUT',
      path: `/api/shifts/${started.id}/attendance/${holder}`,
      content: contentOf('NoShow', null),
      body: { status: 'NoShow' },
    });
    started.uses += isUnknown(operation) ? USES_OF_UNKNOWN : 1;
  }
  const into = pick(member, club.memberIds) ?? member.id;
  const merge: Request = {
    kind: 'merge',
    holder,
    into,
    key: keyOf(member, shared),
    method: 'POST',
    path: `/api/members/${holder}/merge`,
    body: { into },
  };
  const { operation } = await sendUntilKnown(member, shared, merge);
  if (isDone(operation)) {
    await sendUntilKnown(member, shared, merge);
  }
  return true;
}

async function setMembership(member: Member, { leavers }: SharedRows, kind: Kind): Promise<boolean> {
  const leaver = pick(member, leavers);
  if (leaver === undefined) {
    return false;
  }
  await member.act({
    kind,
    holder: leaver.id,
    method: 'PUT',
    path: `/api/members/${leaver.id}/membership`,
    body: { status: kind === 'end membership' ? 'Left' : 'Active' },
  });
  return true;
}

/** Whether a read is about the caller: Members read only their own waits. */
function isOfOneself({ role, random }: Member): boolean {
  return role === 'Member' || random() < 0.5;
}

async function createTask(member: Member, shared: SharedRows): Promise<void> {
  const { canary } = member.club;
  const marker = `${canary} mark-${nextOf(shared)}`;
  const { operation, body } = await sendUntilKnown(member, shared, {
    kind: 'create task',
    method: 'POST',
    path: '/api/tasks',
    marker,
    ...keyedAtTimes(member, shared, 0.6),
    body: { title: `${canary} ${nextOf(shared)}`, description: marker },
  });
  if (isDone(operation) && shared.tasks.length < 2 * TASKS) {
    shared.tasks.push({ id: body.id, version: body.version, state: body.state, uses: 0 });
  }
}

async function createShift(member: Member, shared: SharedRows, times = COMING): Promise<void> {
  const marker = `${member.club.canary} mark-${nextOf(shared)}`;
  const capacity = 1 + Math.floor(member.random() * 3);
  const { operation, body } = await sendUntilKnown(member, shared, {
    kind: 'create shift',
    method: 'POST',
    path: '/api/shifts',
    marker,
    capacity,
    ...keyedAtTimes(member, shared, 0.6),
    body: {
      ...shiftOf(member, `${member.club.canary} ${nextOf(shared)}`, capacity),
      ...times,
      description: marker,
    },
  });
  if (isDone(operation) && times === STARTED) {
    shared.started.push({ id: body.id, versions: new Map(), uses: 0 });
  } else if (isDone(operation) && shared.shifts.length < 2 * SHIFTS) {
    shared.shifts.push({ id: body.id, version: body.version, capacity, uses: 0 });
  }
}

/** Repeats a request with a key until its outcome is known. */
async function sendUntilKnown(member: Member, shared: SharedRows, request: Request): Promise<Recorded> {
  let recorded = await member.act(request);
  const isOpen = ({ operation: { status, code } }: Recorded) =>
    status === null || status >= 500 || code === 'idempotency_in_progress';
  while (request.key !== undefined && isOpen(recorded) && !shared.end()) {
    await sleep(30);
    recorded = await member.act(request);
  }
  return recorded;
}

function shiftOf({ club }: Member, title: string, capacity: number) {
  return { title, location: club.canary, ...COMING, capacity };
}

/** A key for this share of the requests. */
function keyedAtTimes(member: Member, shared: SharedRows, share: number): { key?: string } {
  return !member.club.hasMerges && member.random() < share ? { key: keyOf(member, shared) } : {};
}

function keyOf({ club }: Member, shared: SharedRows): string {
  return `${club.canary} key-${nextOf(shared)}`;
}

const nextOf = (shared: SharedRows) => ++shared.count;

function pick<Thing>({ random }: Member, things: Thing[]): Thing | undefined {
  return things[Math.floor(random() * things.length)];
}
