import { setTimeout as sleep } from 'node:timers/promises';
import { STATES, type State } from '../../setup/workflow.js';
import { isDone, type Kind } from './history.js';
import type { Member, Noted, Request } from './member.js';

/** The current rows of a club: all members work on the same few rows, so that they conflict. */
export interface Board {
  /** `state` is undefined when it may have changed. */
  tasks: { id: string; version: number; state: State | undefined; uses: number }[];
  shifts: { id: string; version: number; capacity: number; uses: number }[];
  /** A counter that makes written texts unique. */
  count: number;
  /** The time after which keyed requests are not repeated. */
  end: () => boolean;
}

/** A row is not used after this many requests, to limit its unknown outcomes. */
const MOST_USES = 60;
const TASKS = 3;
const SHIFTS = 2;

/** Sends one request of this kind; false when there is no suitable row, or the role is too low. */
export async function work(member: Member, board: Board, kind: Kind): Promise<boolean> {
  const isManager = member.role === 'Manager' || member.role === 'Admin';
  const isAllowed = /^delete/.test(kind) ? member.role === 'Admin' : isManager || !/^(create|put)/.test(kind);
  if (!isAllowed) {
    return false;
  }
  await (isManager && refill(member, board));
  if (kind === 'create task') {
    await createTask(member, board);
  } else if (kind === 'create shift') {
    await createShift(member, board);
  } else if (kind.startsWith('list')) {
    await member.act({ kind, method: 'GET', path: `/api/${kind.slice(5)}` });
  } else {
    return kind.endsWith('task') ? workOnTask(member, board, kind) : workOnShift(member, board, kind);
  }
  return true;
}

async function refill(member: Member, board: Board): Promise<void> {
  board.tasks = board.tasks.filter(({ uses }) => uses < MOST_USES);
  board.shifts = board.shifts.filter(({ uses }) => uses < MOST_USES);
  if (board.tasks.length < TASKS) {
    await createTask(member, board);
  }
  if (board.shifts.length < SHIFTS) {
    await createShift(member, board);
  }
}

async function workOnTask(member: Member, board: Board, kind: Kind): Promise<boolean> {
  const task = pick(member, board.tasks);
  if (task === undefined) {
    return false;
  }
  task.uses += 1;
  const { id } = task;
  const path = `/api/tasks/${id}`;
  let noted: Noted;
  if (kind === 'patch task') {
    const next = task.state && STATES[STATES.indexOf(task.state) + 1];
    const isStep = next !== undefined && member.random() < 0.3;
    const title = `${member.club.canary} ${nextOf(board)}`;
    const named = isStep || member.random() < 0.8 ? task.version : undefined;
    noted = await member.act({
      kind,
      method: 'PATCH',
      path,
      target: id,
      ...(named !== undefined && { named }),
      content: isStep ? `|${next}` : `${title}|`,
      body: { ...(isStep ? { state: next } : { title }), ...(named !== undefined && { version: named }) },
    });
  } else {
    noted = await member.act({ kind, method: kind === 'delete task' ? 'DELETE' : 'GET', path, target: id });
  }
  const { status, code } = noted.operation;
  if (status === 200 && noted.body.version > task.version) {
    Object.assign(task, { version: noted.body.version, state: noted.body.state });
  } else if (code === 'task_version_conflict') {
    Object.assign(task, { version: Math.max(task.version, noted.body.currentVersion), state: undefined });
  } else if (status === 404 || kind === 'delete task') {
    board.tasks = board.tasks.filter((other) => other !== task);
  }
  return true;
}

async function workOnShift(member: Member, board: Board, kind: Kind): Promise<boolean> {
  const shift = pick(member, board.shifts);
  if (shift === undefined) {
    return false;
  }
  shift.uses += 1;
  const { id } = shift;
  const path = `/api/shifts/${id}`;
  const about = { kind, target: id };
  let noted: Noted;
  if (kind === 'sign up') {
    noted = await sendUntilHeard(member, board, {
      ...about,
      method: 'POST',
      path: `${path}/signup`,
      ...(member.random() < 0.3 && { key: keyOf(member, board) }),
    });
  } else if (kind === 'cancel') {
    noted = await member.act({ ...about, method: 'DELETE', path: `${path}/signup` });
  } else if (kind === 'put shift') {
    const capacity = 1 + Math.floor(member.random() * 4);
    const title = `${member.club.canary} ${nextOf(board)}`;
    noted = await member.act({
      ...about,
      method: 'PUT',
      path,
      named: shift.version,
      content: `${title}|${capacity}`,
      capacity,
      body: { ...shiftOf(member, title, capacity), version: shift.version },
    });
  } else {
    noted = await member.act({ ...about, method: kind === 'delete shift' ? 'DELETE' : 'GET', path });
  }
  const { status, code } = noted.operation;
  if (status === 200 && noted.body.version > shift.version) {
    shift.version = noted.body.version;
  } else if (code === 'shift_version_conflict') {
    shift.version = Math.max(shift.version, noted.body.currentVersion);
  } else if (code === 'shift_not_found' || kind === 'delete shift') {
    board.shifts = board.shifts.filter((other) => other !== shift);
  }
  return true;
}

async function createTask(member: Member, board: Board): Promise<void> {
  const { canary } = member.club;
  const marker = `${canary} mark-${nextOf(board)}`;
  const { operation, body } = await sendUntilHeard(member, board, {
    kind: 'create task',
    method: 'POST',
    path: '/api/tasks',
    marker,
    ...(member.random() < 0.6 && { key: keyOf(member, board) }),
    body: { title: `${canary} ${nextOf(board)}`, description: marker },
  });
  if (isDone(operation) && board.tasks.length < 2 * TASKS) {
    board.tasks.push({ id: body.id, version: body.version, state: body.state, uses: 0 });
  }
}

async function createShift(member: Member, board: Board): Promise<void> {
  const marker = `${member.club.canary} mark-${nextOf(board)}`;
  const capacity = 1 + Math.floor(member.random() * 3);
  const { operation, body } = await sendUntilHeard(member, board, {
    kind: 'create shift',
    method: 'POST',
    path: '/api/shifts',
    marker,
    capacity,
    ...(member.random() < 0.6 && { key: keyOf(member, board) }),
    body: { ...shiftOf(member, `${member.club.canary} ${nextOf(board)}`, capacity), description: marker },
  });
  if (isDone(operation) && board.shifts.length < 2 * SHIFTS) {
    board.shifts.push({ id: body.id, version: body.version, capacity, uses: 0 });
  }
}

/** Repeats a request with a key until its outcome is known. */
async function sendUntilHeard(member: Member, board: Board, request: Request): Promise<Noted> {
  let noted = await member.act(request);
  const isOpen = ({ operation: { status, code } }: Noted) =>
    status === null || status >= 500 || code === 'idempotency_in_progress';
  while (request.key !== undefined && isOpen(noted) && !board.end()) {
    await sleep(30);
    noted = await member.act(request);
  }
  return noted;
}

function shiftOf({ club }: Member, title: string, capacity: number) {
  const times = { startsAt: '2101-05-01T10:00:00Z', endsAt: '2101-05-01T12:00:00Z' };
  return { title, location: club.canary, ...times, capacity };
}

function keyOf({ club }: Member, board: Board): string {
  return `${club.canary} key-${nextOf(board)}`;
}

const nextOf = (board: Board) => ++board.count;

function pick<Thing>({ random }: Member, things: Thing[]): Thing | undefined {
  return things[Math.floor(random() * things.length)];
}
