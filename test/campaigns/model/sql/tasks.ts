/** Statements that write tasks, by an id or without a condition. */

import { STATES } from '../../../setup/workflow.js';
import type { Random } from '../random.js';
import { drawId, reaches, type Task } from '../state.js';
import { allowedSteps, isStep } from '../tasks.js';
import { drawText, inserting, updating } from './assignments.js';
import type { Expected, Here, Inside, Step } from './step.js';

/** Why the workflow refuses this change of a task. */
function refusalOf({ role, member }: Inside, task: Task, next: Task): string | undefined {
  const isMove = next.state !== task.state;
  const isHandover = next.assigneeId !== task.assigneeId;
  if (isMove ? !isStep(task.state, next.state) : task.state === 'Done' && isHandover) {
    return 'TK001';
  }
  if (isMove && !allowedSteps(role, member?.id ?? '', task).includes(next.state)) {
    return 'TK002';
  }
  const isTaking = task.assigneeId === null && next.assigneeId === member?.id;
  if (isHandover && next.assigneeId !== null && !isTaking && !reaches(role, 'Manager')) {
    return 'TK003';
  }
  return (next.state === 'Open') === (next.assigneeId === null) ? undefined : '23514';
}

/** A change of a task: mostly the next step of a task of the club, sometimes any change of any task. */
function drawChange(random: Random, here: Here): { set: Partial<Task>; id: string | undefined } {
  const own = [...(here.club?.tasks.values() ?? [])];
  const member = drawId(random, here.world, here.club, ({ members }) => members);
  const kind = random.weighted({ step: 9, title: 3, state: 3, assignee: 3, both: 3 });
  if (kind === 'step' && own.length > 0) {
    const [one, other] = [random.pick(own), random.pick(own)];
    const { id, state: from } = STATES.indexOf(one.state) > STATES.indexOf(other.state) ? one : other;
    const state = random.pick(STATES.filter((to) => isStep(from, to) || from === to));
    const holder = random.pick([...(here.club?.members.keys() ?? [])]);
    const isHandover = from === 'Open' || from === state || random.isTrue(0.2);
    const assigneeId = state === 'Open' ? null : holder;
    return { set: { state, ...(isHandover || assigneeId === null ? { assigneeId } : {}) }, id };
  }
  const assigneeId = random.pick([member, here.member?.id ?? member, null]);
  const set = {
    ...(kind === 'title' ? { title: drawText(random, here) } : {}),
    ...(kind === 'state' || kind === 'both' ? { state: random.pick(STATES) } : {}),
    ...(kind === 'title' || kind === 'state' ? {} : { assigneeId }),
  };
  const isBlind = random.isTrue(0.2);
  return { set, id: isBlind ? undefined : drawId(random, here.world, here.club, ({ tasks }) => tasks) };
}

/** Updates a task, or all of them. */
export function drawTaskUpdate(random: Random, here: Here): Step {
  const { set, id } = drawChange(random, here);
  return {
    ...updating('tasks', set, id),
    least: 'Member',
    needsMember: true,
    rule: (inside): Expected => {
      const { club, role } = inside;
      const hit = [...club.tasks.values()].filter((task) => id === undefined || task.id === id);
      if (!reaches(role, 'Member')) {
        return { rows: 0 };
      }
      const changed = hit
        .map((task) => ({ task, next: { ...task, ...set } }))
        .filter(
          ({ task, next }) =>
            task.state !== next.state || task.assigneeId !== next.assigneeId || task.title !== next.title,
        );
      const codes = changed.flatMap(({ task, next }) => refusalOf(inside, task, next) ?? []);
      if (codes.length > 0) {
        return { codes };
      }
      if (changed.some(({ next }) => next.assigneeId !== null && !club.members.has(next.assigneeId))) {
        return { codes: ['23503'] };
      }
      for (const { task, next } of changed) {
        const completedAt = next.state === 'Done' ? 'done' : null;
        Object.assign(task, next, { version: task.version + 1, completedAt });
      }
      return { rows: hit.length };
    },
  };
}

/** Inserts a task. */
export function drawTaskInsert(random: Random, here: Here): Step {
  const member = drawId(random, here.world, here.club, ({ members }) => members);
  const assigneeId = random.isTrue(0.5) ? null : member;
  const set = { title: drawText(random, here), description: drawText(random, here), assigneeId };
  return {
    ...inserting('tasks', set),
    needsMember: true,
    rule: ({ club, role, member: creator }, rows) => {
      if (!reaches(role, 'Manager')) {
        return { codes: ['42501'] };
      }
      if (assigneeId !== null && !club.members.has(assigneeId)) {
        return { codes: ['23503'] };
      }
      const id = String(rows[0]?.id);
      const state = assigneeId === null ? 'Open' : 'Assigned';
      const made = { id, ...set, state, dueAt: null, createdById: creator?.id ?? null, version: 1 } as const;
      club.tasks.set(id, { ...made, createdAt: '', updatedAt: '', completedAt: null });
      return { rows: 1, returned: [{ id }] };
    },
  };
}
