/**
 * Express 5 with pg, the best version that we know: no unneeded ETag or header, named prepared statements, times as text,
 * one transaction per request that sets the club and finds the member. With PIPELINE=on, an option of pg, BEGIN, the entry
 * and the first statement are sent together; both variants are tried. Unlike the service it has no log, no rate limit and
 * no metrics.
 */
import express, { type NextFunction, type Request, type Response } from 'express';
import pg from 'pg';
import { type Caller, readCaller, requireMember } from './caller.js';
import { nextLink, readId, readPage, readPatch, readWindow, toRfc3339 } from './input.js';
import { claim, signUpOnce } from './keyed.js';
import { Refusal, refusalOf } from './refusal.js';
import * as statements from './statements.js';

pg.types.setTypeParser(1184, toRfc3339);

const pipeline = process.env.PIPELINE === 'on';
const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: Number(process.env.POOL_SIZE),
  ...({ pipeline } as object),
});

const BEGIN = {
  read: 'begin isolation level repeatable read, read only',
  write: 'begin isolation level read committed, read write',
};

/** Runs a statement, and what follows from its rows, in one transaction inside the caller's club. */
async function inClub<Row extends pg.QueryResultRow, Result = Row[]>(
  caller: Caller,
  mode: keyof typeof BEGIN,
  first: statements.Statement,
  then: (rows: Row[], client: pg.PoolClient) => Promise<Result> | Result = (rows) => rows as Result,
  isSynced = false,
): Promise<Result> {
  const client = await pool.connect();
  let entry: statements.Entered | undefined;
  try {
    const begun = client.query(BEGIN[mode]);
    if (!pipeline) {
      await begun;
    }
    const entered = client.query<statements.Entered>(statements.enter(caller));
    const early = pipeline ? client.query<Row>(first) : undefined;
    // Awaited below, unless the entry fails first.
    for (const promise of [begun, entered, early]) {
      promise?.catch(() => {});
    }
    await begun;
    entry = (await entered).rows[0];
    if (entry?.clubExists && entry.memberId !== null && (isSynced || entry.isCurrent)) {
      const firstResult = await (early ?? client.query<Row>(first));
      const result = await then(firstResult.rows, client);
      await client.query('commit');
      client.release();
      return result;
    }
    await early?.catch(() => {});
    await client.query('rollback');
    client.release();
  } catch (error) {
    const failure = await client.query('rollback').then(
      () => undefined,
      (reason: Error) => reason,
    );
    client.release(failure);
    throw error;
  }
  if (!entry?.clubExists) {
    throw new Refusal(403, 'tenant_forbidden');
  }
  await syncMember(caller);
  return inClub(caller, mode, first, then, true);
}

async function syncMember(caller: Caller): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(BEGIN.write);
    await client.query(statements.enter(caller));
    await client.query(statements.syncMember(caller));
    await client.query('commit');
    client.release();
  } catch (error) {
    client.release(error as Error);
    throw error;
  }
}

type Handler = (request: Request, response: Response, caller: Caller) => Promise<unknown>;

const handle = (handler: Handler) => async (request: Request, response: Response) => {
  const caller = await readCaller(request.headers);
  requireMember(caller);
  await handler(request, response, caller);
};

const app = express();
app.set('etag', false);
app.set('x-powered-by', false);
app.use(express.json({ type: ['application/json', 'application/merge-patch+json'], limit: '128kb' }));

app.get(
  '/api/tasks',
  handle(async (request, response, caller) => {
    const page = readPage(request.query);
    const rows = await inClub<TaskListed>(caller, 'read', statements.tasksPage(page));
    const link = nextLink(
      request.originalUrl,
      page,
      rows.map(({ id, createdAt }) => ({ id, key: createdAt })),
    );
    if (link !== undefined) {
      response.set('link', link);
    }
    response.json(rows.slice(0, page.limit));
  }),
);
interface TaskListed {
  id: string;
  createdAt: string;
}

app.get(
  '/api/tasks/:id',
  handle(async (request, response, caller) => {
    const [task] = await inClub<statements.TaskRow>(
      caller,
      'read',
      statements.task(readId(request.params.id)),
    );
    if (task === undefined) {
      throw new Refusal(404, 'task_not_found');
    }
    response.set('etag', `"${task.version}"`).json(task);
  }),
);

app.patch(
  '/api/tasks/:id',
  handle(async (request, response, caller) => {
    const patch = statements.patchTask(readId(request.params.id), readPatch(request.body));
    const [task] = await inClub<statements.TaskRow>(caller, 'write', patch);
    response.set('etag', `"${task?.version}"`).json(task);
  }),
);

app.get(
  '/api/shifts',
  handle(async (request, response, caller) => {
    const window = readWindow(request.query);
    const rows = await inClub(caller, 'read', statements.shiftsWindow(window));
    response.json(rows.slice(0, window.limit));
  }),
);

app.post(
  '/api/shifts/:id/signup',
  handle(async (request, response, caller) => {
    const id = readId(request.params.id);
    const key = request.get('idempotency-key');
    if (key !== undefined) {
      const { status, location, body } = await inClub<statements.StoredResponse, statements.StoredResponse>(
        caller,
        'write',
        claim(key, request.path),
        (stored, client) => {
          const query = async <Row>(statement: statements.Statement) =>
            (await client.query(statement)).rows as Row[];
          return signUpOnce(stored, query, key, id);
        },
      );
      response.status(status).location(location).type('application/json').send(body);
      return;
    }
    const [signup] = await inClub(caller, 'write', statements.signUp(id));
    response.status(201).location(`/api/shifts/${id}/signup`).json(signup);
  }),
);

app.delete(
  '/api/shifts/:id/signup',
  handle(async (request, response, caller) => {
    await inClub(caller, 'write', statements.cancelSignUp(readId(request.params.id)));
    response.status(204).end();
  }),
);

// Express recognizes an error handler by its four parameters.
app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
  const refusal = refusalOf(error);
  response.status(refusal.status).type('application/problem+json').json(refusal.toBody(request.originalUrl));
});

app.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'));
