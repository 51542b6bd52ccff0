/** The rules for requests of tasks. */
import type { Task } from '../state.js';
import { plan, taskDetailDto, taskDto } from '../tasks.js';
import { changedAt, type Here, isRuledOut, refuse, sorted, type Verdict } from './ask.js';

const NOT_FOUND = refuse(404, 'task_not_found');

/** The tasks that match the filters. */
export function listTasks(here: Here): Verdict {
  const { state, assigneeId, dueBefore, dueAfter, q = '', sort = '-createdAt' } = here.ask.query;
  const holder = assigneeId === 'me' ? here.member.id : assigneeId;
  const fits = (task: Task) =>
    (state === undefined || state.split(',').includes(task.state)) &&
    (holder === undefined || (task.assigneeId ?? 'none') === holder) &&
    (dueBefore === undefined || (task.dueAt !== null && task.dueAt < dueBefore)) &&
    (dueAfter === undefined || (task.dueAt !== null && task.dueAt > dueAfter)) &&
    task.title.toLowerCase().includes(q.toLowerCase());
  const rows = [...here.club.tasks.values()].filter(fits).map((task) => taskDto(here, task));
  return sorted(rows, sort, {
    createdAt: ({ createdAt }) => createdAt.replace('Z', ''),
    updatedAt: ({ updatedAt }) => updatedAt.replace('Z', ''),
    dueAt: ({ dueAt }) => dueAt ?? '9999',
    title: ({ title }) => title,
  });
}

const show = (here: Here, task: Task, status = 200): Verdict => ({
  status,
  body: taskDetailDto(here, task),
  etag: task.version,
});

/** One task. */
export function getTask(here: Here): Verdict {
  const task = here.club.tasks.get(here.ask.id);
  return task === undefined ? NOT_FOUND : show(here, task);
}

/** Creates a task, which is Assigned when it has an assignee. */
export function createTask(here: Here): Verdict {
  const { club, member, ask, answer } = here;
  const { title, description = null, dueAt = null, assigneeId = null } = ask.body;
  if (assigneeId !== null && !club.members.has(assigneeId)) {
    return refuse(422, 'assignee_not_member');
  }
  const { id, createdAt, updatedAt } = answer ?? {};
  const state = assigneeId === null ? 'Open' : 'Assigned';
  const words = { title, description, dueAt, assigneeId, state } as const;
  const task = { id, ...words, createdById: member.id, createdAt, updatedAt, completedAt: null, version: 1 };
  club.tasks.set(id, task);
  return { ...show(here, task, 201), location: `/api/tasks/${id}` };
}

/** Changes a task, or takes a step. */
export function patchTask(here: Here): Verdict {
  const { club, ask, answer } = here;
  const task = club.tasks.get(ask.id);
  if (task === undefined) {
    return NOT_FOUND;
  }
  if (isRuledOut(here, task.version)) {
    return refuse(412, 'precondition_failed');
  }
  const next = plan(here, task, ask.body);
  if ('code' in next) {
    return refuse(next.status, next.code, next.details);
  }
  const columns = ['title', 'description', 'dueAt', 'assigneeId', 'state'] as const;
  if (columns.some((column) => next[column] !== task[column])) {
    const isDone = task.state !== 'Done' && next.state === 'Done';
    const completedAt = isDone ? String(answer?.completedAt) : task.completedAt;
    const updatedAt = changedAt(here, task.updatedAt);
    Object.assign(task, next, { version: task.version + 1, updatedAt, completedAt });
  }
  return show(here, task);
}

/** Deletes a task. */
export function deleteTask(here: Here): Verdict {
  const { club, ask } = here;
  const task = club.tasks.get(ask.id);
  if (task === undefined) {
    return NOT_FOUND;
  }
  if (isRuledOut(here, task.version)) {
    return refuse(412, 'precondition_failed');
  }
  club.tasks.delete(task.id);
  return { status: 204 };
}
