import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { preconditionFailed } from '../errors/conflict.js';
import { invalidCursor } from '../errors/request.js';
import { etagOf, requireCurrent, sendVersion, tagsOf } from '../resource/conditional.js';
import { pageOf, readPage, sendPage } from '../resource/pagination.js';
import type { Resource } from '../resource/resource.js';
import { foundRow, onlyRow } from '../resource/rows.js';
import { Named, NoQuery } from '../validation/schemas.js';
import * as errors from './errors.js';
import { deleteTask, findTask, insertTask, listTasks, lockTask, patchTask, taskOrders } from './queries.js';
import {
  CreateTaskRequest,
  TASK_SORT,
  TaskDetailDto,
  TaskListDto,
  TaskListQuery,
  TaskParams,
  UpdateTaskRequest,
} from './schemas.js';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  for (const schema of [TaskListDto, TaskDetailDto, CreateTaskRequest, UpdateTaskRequest]) {
    app.addSchema(schema);
  }

  app.get(
    '/tasks',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'listTasks',
        summary: 'List the tasks of the club',
        description: 'In pages: the header Link has the URL of the next page. A task must match all filters.',
        querystring: TaskListQuery,
        errors: [invalidCursor],
        ...pageOf(Named(TaskListDto)),
      },
    },
    async (request, reply) => {
      const page = readPage(request, taskOrders, TASK_SORT);
      return sendPage(request, reply, page, await request.read(listTasks(request.query, page)));
    },
  );

  app.get(
    '/tasks/:id',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'getTask',
        summary: 'Read a task',
        description: '`allowedTransitions` has the states that you may set now.',
        params: TaskParams,
        querystring: NoQuery,
        errors: [errors.taskNotFound],
        responseHeaders: ['ETag'],
        response: { 200: Named(TaskDetailDto) },
      },
    },
    async (request, reply) => {
      const found = await request.read(findTask(request.params.id));
      return sendVersion(reply, foundRow(found, errors.taskNotFound));
    },
  );

  app.post(
    '/tasks',
    {
      config: { policy: 'RequireManager' },
      schema: {
        operationId: 'createTask',
        summary: 'Create a task',
        description: 'Its first state is Open, or Assigned with an `assigneeId`.',
        querystring: NoQuery,
        body: Named(CreateTaskRequest),
        errors: [errors.assigneeNotMember],
        requestHeaders: ['Idempotency-Key'],
        responseHeaders: ['ETag', 'Location', 'Idempotent-Replayed'],
        response: { 201: Named(TaskDetailDto) },
      },
    },
    async (request, reply) =>
      reply.create(async (tx) => {
        const task = await insertTask(tx, request.body);
        const { id, version } = task.parse();
        return { location: `/api/tasks/${id}`, etag: etagOf(version), body: task };
      }),
  );

  app.patch(
    '/tasks/:id',
    {
      config: { policy: 'RequireMember' },
      schema: {
        operationId: 'updateTask',
        summary: 'Change a task, or take a step of its workflow',
        description:
          'A JSON Merge Patch (RFC 7396): an absent field keeps its value, null clears it. At most one step at a time.',
        params: TaskParams,
        querystring: NoQuery,
        body: Named(UpdateTaskRequest),
        errors: [
          errors.taskNotFound,
          preconditionFailed,
          errors.taskVersionConflict,
          errors.invalidTaskTransition,
          errors.taskTransitionForbidden,
          errors.taskAssignForbidden,
          errors.taskAlreadyAssigned,
          errors.assigneeNotMember,
        ],
        requestHeaders: ['If-Match'],
        responseHeaders: ['ETag'],
        response: { 200: Named(TaskDetailDto) },
      },
    },
    async (request, reply) => {
      const { params, body, headers } = request;
      const patched = await request.call(patchTask(params.id, body, tagsOf(headers['if-match'])));
      return sendVersion(reply, onlyRow(patched));
    },
  );

  app.delete(
    '/tasks/:id',
    {
      config: { policy: 'RequireAdmin' },
      schema: {
        operationId: 'deleteTask',
        summary: 'Delete a task',
        description: 'This cannot be undone. With If-Match, only if its version is unchanged.',
        params: TaskParams,
        querystring: NoQuery,
        errors: [errors.taskNotFound, preconditionFailed],
        requestHeaders: ['If-Match'],
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await request.transaction(async (tx) => {
        requireCurrent(await lockTask(tx, request.params.id), request, { notFound: errors.taskNotFound });
        await deleteTask(tx, request.params.id);
      });
      return reply.code(204).send(null);
    },
  );
};

/** The resource tasks. */
export const tasks: Resource = {
  tag: { name: 'Tasks', description: 'Work with five states: Open, Assigned, InProgress, Review, Done.' },
  errors: Object.values(errors),
  eventTypes: ['task.created', 'task.changed', 'task.deleted'],
  routes,
};
