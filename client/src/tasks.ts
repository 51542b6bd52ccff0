import type { List } from './list.js';
import type { Sender } from './send.js';
import type {
  CallOptions,
  CreateOptions,
  CreateTaskRequest,
  TaskChanges,
  TaskDetailDto,
  TaskFilter,
  TaskListDto,
  TaskState,
  Versioned,
} from './types.js';
import { deletionOf, versionOf } from './versioned.js';

/**
 * The methods that change a task take it as it was read and return its new state. The request has its version: if the
 * task was changed meanwhile, nothing is changed and the call rejects with `task_version_conflict`.
 */
export interface Tasks {
  list(filter?: TaskFilter, options?: CallOptions): List<TaskListDto>;
  get(id: string, options?: CallOptions): Promise<TaskDetailDto>;
  create(task: CreateTaskRequest, options?: CreateOptions): Promise<TaskDetailDto>;
  /** Changes the given fields; null clears a field. */
  update(task: Versioned, changes: TaskChanges, options?: CallOptions): Promise<TaskDetailDto>;
  /** Sets the state; `allowedTransitions` of the task lists the states that you may set. */
  move(task: Versioned, state: TaskState, options?: CallOptions): Promise<TaskDetailDto>;
  /** Assigns an open task to you. */
  take(task: Versioned, options?: CallOptions): Promise<TaskDetailDto>;
  /** Assigns the task to a member. */
  assign(task: Versioned, memberId: string, options?: CallOptions): Promise<TaskDetailDto>;
  /** Deletes a task if its version is unchanged; with an id only, without this check. */
  delete(task: Versioned | string, options?: CallOptions): Promise<void>;
}

/** The methods for tasks. */
export function tasksOf({ send, list }: Sender): Tasks {
  const update: Tasks['update'] = async (task, changes, options) => {
    const { id, version } = versionOf(task);
    return send('updateTask', { id, body: { ...changes, version }, ...options });
  };
  return {
    list: (filter = {}, options = {}) => list('listTasks', filter, options),
    get: (id, options) => send('getTask', { id, ...options }),
    create: (task, options) => send('createTask', { body: { ...task }, ...options }),
    update,
    move: (task, state, options) => update(task, { state }, options),
    take: (task, options) => update(task, { state: 'Assigned' }, options),
    assign: (task, assigneeId, options) => update(task, { assigneeId }, options),
    delete: async (task, options) => send('deleteTask', { ...deletionOf(task), ...options }),
  };
}
