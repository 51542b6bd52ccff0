import type { List } from './list.js';
import type { Sender } from './send.js';
import type {
  CallOptions,
  CreateTaskRequest,
  MakeOptions,
  TaskChanges,
  TaskDetailDto,
  TaskFilter,
  TaskListDto,
  TaskState,
  Versioned,
} from './types.js';

/**
 * Whoever changes a task passes the task as it was read, and gets it as it is now. Its version goes with the
 * request: if somebody changed it meanwhile, nothing happens and the call is rejected with `task_version_conflict`.
 */
export interface Tasks {
  list(filter?: TaskFilter, options?: CallOptions): List<TaskListDto>;
  get(id: string, options?: CallOptions): Promise<TaskDetailDto>;
  create(task: CreateTaskRequest, options?: MakeOptions): Promise<TaskDetailDto>;
  /** Changes what is named; null clears. */
  update(task: Versioned, changes: TaskChanges, options?: CallOptions): Promise<TaskDetailDto>;
  /** Takes a step of the workflow; `allowedTransitions` of the task lists those that you may take. */
  move(task: Versioned, state: TaskState, options?: CallOptions): Promise<TaskDetailDto>;
  /** Makes it yours. */
  take(task: Versioned, options?: CallOptions): Promise<TaskDetailDto>;
  /** Gives it to a member. */
  assign(task: Versioned, memberId: string, options?: CallOptions): Promise<TaskDetailDto>;
  /** Deletes a task, as it was read; with an id alone whatever became of it. */
  delete(task: Versioned | string, options?: CallOptions): Promise<void>;
}

/** The methods about tasks. */
export function tasksOf({ send, list }: Sender): Tasks {
  const update: Tasks['update'] = ({ id, version }, changes, options) =>
    send('updateTask', { id, body: { ...changes, version }, ...options });
  return {
    list: (filter = {}, options = {}) => list('listTasks', filter, options),
    get: (id, options) => send('getTask', { id, ...options }),
    create: (task, options) => send('createTask', { body: { ...task }, ...options }),
    update,
    move: (task, state, options) => update(task, { state }, options),
    take: (task, options) => update(task, { state: 'Assigned' }, options),
    assign: (task, assigneeId, options) => update(task, { assigneeId }, options),
    delete: (task, options) =>
      typeof task === 'string'
        ? send('deleteTask', { id: task, ...options })
        : send('deleteTask', { id: task.id, ifVersion: task.version, ...options }),
  };
}
