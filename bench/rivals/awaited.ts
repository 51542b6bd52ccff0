/**
 * Fastify with postgres.js, the best version that we know without a custom database layer: plain `sql.begin`, each
 * statement awaited, prepared statements, responses serialized by schema, times as text. Unlike the service it sends each
 * statement separately, and has no log, no rate limit and no metrics.
 */
import Fastify, { type FastifyRequest } from 'fastify';
import postgres from 'postgres';
import { type Caller, readCaller, requireMember } from './caller.js';
import { nextLink, readId, readPage, readPatch, readWindow, toRfc3339 } from './input.js';
import { claim, signUpOnce } from './keyed.js';
import { Refusal, refusalOf } from './refusal.js';
import * as schemas from './schemas.js';
import * as statements from './statements.js';

const sql = postgres(process.env.DATABASE_URL as string, {
  max: Number(process.env.POOL_SIZE),
  fetch_types: false,
  connection: { TimeZone: 'UTC' },
  types: {
    date: { to: 1184, from: [1184], serialize: (text: string) => text, parse: toRfc3339 },
    textArray: {
      to: 1009,
      from: [1009],
      serialize: (items: string[]) => items,
      parse: (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(',')),
    },
  },
});

const MODES = { read: 'isolation level repeatable read, read only', write: 'read write' };

class MemberOutdated extends Error {}

type Query = <Row>(statement: statements.Statement) => Promise<Row[]>;

/** Runs work in one transaction inside the caller's club. */
async function inClub<Result>(
  caller: Caller,
  mode: keyof typeof MODES,
  work: (query: Query) => Promise<Result>,
): Promise<Result> {
  try {
    return await attempt(caller, mode, work, true);
  } catch (error) {
    if (!(error instanceof MemberOutdated)) {
      throw error;
    }
  }
  await sql.begin(MODES.write, async (tx) => {
    const query = queryOf(tx);
    await query(statements.enter(caller));
    await query(statements.syncMember(caller));
  });
  return attempt(caller, mode, work, false);
}

async function attempt<Result>(
  caller: Caller,
  mode: keyof typeof MODES,
  work: (query: Query) => Promise<Result>,
  mustBeCurrent: boolean,
): Promise<Result> {
  return sql.begin(MODES[mode], async (tx) => {
    const query = queryOf(tx);
    const [entry] = await query<statements.Entered>(statements.enter(caller));
    if (!entry?.clubExists) {
      throw new Refusal(403, 'tenant_forbidden');
    }
    if (entry.memberId === null || (mustBeCurrent && !entry.isCurrent)) {
      throw new MemberOutdated();
    }
    return work(query);
  }) as Promise<Result>;
}

function queryOf(tx: postgres.TransactionSql): Query {
  return <Row>({ text, values }: statements.Statement) =>
    tx.unsafe(text, values, { prepare: true }) as unknown as Promise<Row[]>;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
  }
}

const app = Fastify({ logger: false });
app.decorateRequest('caller');
app.addHook('onRequest', async (request) => {
  request.caller = await readCaller(request.headers);
  requireMember(request.caller);
});
app.addContentTypeParser(
  'application/merge-patch+json',
  { parseAs: 'string' },
  app.getDefaultJsonParser('error', 'error'),
);
app.setErrorHandler((error, request, reply) => {
  const refusal = refusalOf(error);
  reply.code(refusal.status).type('application/problem+json').send(refusal.toBody(request.url));
});

const idOf = (request: FastifyRequest) => readId((request.params as { id: string }).id);

app.get('/api/tasks', { schema: { response: { 200: schemas.taskList } } }, async (request, reply) => {
  const page = readPage(request.query as Record<string, unknown>);
  const rows = await inClub(request.caller, 'read', (query) =>
    query<{ id: string; createdAt: string }>(statements.tasksPage(page)),
  );
  const link = nextLink(
    request.url,
    page,
    rows.map(({ id, createdAt }) => ({ id, key: createdAt })),
  );
  if (link !== undefined) {
    reply.header('link', link);
  }
  return rows.slice(0, page.limit);
});

app.get('/api/tasks/:id', { schema: { response: { 200: schemas.task } } }, async (request, reply) => {
  const id = idOf(request);
  const [task] = await inClub(request.caller, 'read', (query) =>
    query<statements.TaskRow>(statements.task(id)),
  );
  if (task === undefined) {
    throw new Refusal(404, 'task_not_found');
  }
  reply.header('etag', `"${task.version}"`);
  return task;
});

app.patch('/api/tasks/:id', { schema: { response: { 200: schemas.task } } }, async (request, reply) => {
  const id = idOf(request);
  const patch = readPatch(request.body);
  const [task] = await inClub(request.caller, 'write', (query) =>
    query<statements.TaskRow>(statements.patchTask(id, patch)),
  );
  reply.header('etag', `"${task?.version}"`);
  return task;
});

app.get('/api/shifts', { schema: { response: { 200: schemas.shiftList } } }, async (request) => {
  const window = readWindow(request.query as Record<string, unknown>);
  const rows = await inClub(request.caller, 'read', (query) => query(statements.shiftsWindow(window)));
  return rows.slice(0, window.limit);
});

app.post(
  '/api/shifts/:id/signup',
  { schema: { response: { 201: schemas.signup } } },
  async (request, reply) => {
    const id = idOf(request);
    const key = request.headers['idempotency-key'] as string | undefined;
    if (key !== undefined) {
      const { location, body } = await inClub(request.caller, 'write', async (query) =>
        signUpOnce(await query<statements.StoredResponse>(claim(key, request.url)), query, key, id),
      );
      return reply
        .code(201)
        .header('location', location)
        .type('application/json')
        .send(body as never);
    }
    const [signup] = await inClub(request.caller, 'write', (query) => query(statements.signUp(id)));
    return reply.code(201).header('location', `/api/shifts/${id}/signup`).send(signup);
  },
);

app.delete('/api/shifts/:id/signup', async (request, reply) => {
  const id = idOf(request);
  await inClub(request.caller, 'write', (query) => query(statements.cancelSignUp(id)));
  return reply.code(204).send();
});

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
console.log('ready');
