import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Role } from '../auth/roles.js';
import { Problem } from '../errors/problem.js';
import { etagOf, requireMatch } from '../http/conditional.js';
import { answerPage, readPage } from '../http/pagination.js';
import { Named, NoQuery } from '../validation/schemas.js';
import {
  deleteTask,
  findTask,
  findVersion,
  insertTask,
  isIndexed,
  listTasks,
  lockVersion,
  taskOrders,
  updateTask,
} from './queries.js';
import {
  CreateTaskRequest,
  TaskDetailDto,
  TaskListDto,
  TaskListQuery,
  TaskParams,
  UpdateTaskRequest,
} from './schemas.js';
import { changesNothing, planUpdate } from './workflow.js';

export const tasks: FastifyPluginAsyncTypebox = async (app) => {
  for (const schema of [TaskListDto, TaskDetailDto, CreateTaskRequest, UpdateTaskRequest]) {
    app.addSchema(schema);
  }

  app.get(
    '/tasks',
    {
      config: { policy: 'RequireMember', problems: ['invalid_cursor'], sends: ['Link'] },
      schema: {
        operationId: 'listTasks',
        tags: ['Tasks'],
        summary: 'List the tasks of the club',
        description:
          'Page by page: the header Link leads to the next one. Several filters narrow the list together.',
        querystring: TaskListQuery,
        response: { 200: Type.Array(Named(TaskListDto)) },
      },
    },
    async (request, reply) => {
      const page = readPage(request, taskOrders, '-createdAt');
      const lease = isIndexed(request.query) ? 'shared' : 'exclusive';
      const rows = await request.read(listTasks(request.query, page), lease);
      return answerPage(request, reply, page, rows);
    },
  );

  app.get(
    '/tasks/:id',
    {
      config: { policy: 'RequireMember', problems: ['task_not_found'], sends: ['ETag'] },
      schema: {
        operationId: 'getTask',
        tags: ['Tasks'],
        summary: 'Read a task',
        description: 'Its `allowedTransitions` are the states that you may set now.',
        params: TaskParams,
        querystring: NoQuery,
        response: { 200: Named(TaskDetailDto) },
      },
    },
    async (request, reply) => {
      const [task] = await request.read(findTask(request.params.id), 'shared');
      if (task === undefined) {
        throw new Problem('task_not_found');
      }
      reply.header('etag', etagOf(task.version));
      return task;
    },
  );

  app.post(
    '/tasks',
    {
      config: {
        policy: 'RequireManager',
        problems: ['assignee_not_member'],
        reads: ['Idempotency-Key'],
        sends: ['ETag', 'Location', 'Idempotent-Replayed'],
      },
      schema: {
        operationId: 'createTask',
        tags: ['Tasks'],
        summary: 'Make a task',
        description: 'It is born Open; with an `assigneeId` it is born Assigned.',
        querystring: NoQuery,
        body: Named(CreateTaskRequest),
        response: { 201: Named(TaskDetailDto) },
      },
    },
    async (request, reply) =>
      reply.create(async (tx) => {
        const task = await insertTask(tx, request.body);
        return { location: `/api/tasks/${task.id}`, etag: etagOf(task.version), body: task };
      }),
  );

  app.patch(
    '/tasks/:id',
    {
      config: {
        policy: 'RequireMember',
        problems: [
          'task_not_found',
          'precondition_failed',
          'task_version_conflict',
          'invalid_task_transition',
          'task_transition_forbidden',
          'task_assign_forbidden',
          'task_already_assigned',
          'assignee_not_member',
        ],
        reads: ['If-Match'],
        sends: ['ETag'],
      },
      schema: {
        operationId: 'updateTask',
        tags: ['Tasks'],
        summary: 'Change a task, or take a step of its workflow',
        description:
          'A JSON Merge Patch (RFC 7396): what is absent stays, null clears. At most one step at a time.',
        params: TaskParams,
        querystring: NoQuery,
        body: Named(UpdateTaskRequest),
        response: { 200: Named(TaskDetailDto) },
      },
    },
    async (request, reply) => {
      const { params, body, headers } = request;
      const task = await request.transaction(async (tx) => {
        const [read] = await tx.query(findTask(params.id));
        if (read === undefined) {
          throw new Problem('task_not_found');
        }
        requireMatch(headers['if-match'], read.version);
        if (body.version !== undefined && body.version !== read.version) {
          throw new Problem('task_version_conflict', { currentVersion: read.version });
        }
        const changes = await planUpdate(tx, read, body, request.tenant?.role as Role);
        if (changesNothing(read, changes)) {
          return read;
        }
        const updated = await updateTask(tx, read, changes);
        if (updated !== undefined) {
          return updated;
        }
        // Another writer came between the reading and the writing: this one lost.
        const currentVersion = await findVersion(tx, params.id);
        throw currentVersion === undefined
          ? new Problem('task_not_found')
          : new Problem('task_version_conflict', { currentVersion });
      });
      reply.header('etag', etagOf(task.version));
      return task;
    },
  );

  app.delete(
    '/tasks/:id',
    {
      config: {
        policy: 'RequireAdmin',
        problems: ['task_not_found', 'precondition_failed'],
        reads: ['If-Match'],
      },
      schema: {
        operationId: 'deleteTask',
        tags: ['Tasks'],
        summary: 'Delete a task',
        description: 'For good. With If-Match only if nobody has changed it meanwhile.',
        params: TaskParams,
        querystring: NoQuery,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await request.transaction(async (tx) => {
        const version = await lockVersion(tx, request.params.id);
        if (version === undefined) {
          throw new Problem('task_not_found');
        }
        requireMatch(request.headers['if-match'], version);
        await deleteTask(tx, request.params.id);
      });
      return reply.code(204).send(null);
    },
  );
};
