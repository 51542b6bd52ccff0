import { isDeepStrictEqual } from 'node:util';
import type { App } from '../../../../src/app.js';
import { assertDocumented } from '../../../setup/contract.js';
import type { Response } from '../../../setup/send.js';
import { type ClubMarks, foreignIds, foreignTexts } from '../../rules.js';
import type { Finding } from './search.js';

/** A request with the ids and tokens of this run. */
export interface SentRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: Buffer;
}

export type Rules = (
  request: SentRequest,
  response: Response,
  send: (request: SentRequest) => Promise<Response>,
) => Promise<Finding | undefined>;

/** Words of the database, of Node.js and of stack traces. */
const INTERNAL =
  /\bat .*\(.*:\d+:\d+\)|node_modules|PostgresError|SQLSTATE|\bpg_\w+|app\.(tasks|shifts|members|events)\b|ECONN|fastify/i;

/** Pages that the document does not describe: itself, and what shows it. */
const PAGES = /^\/($|docs(\/|$)|openapi\.json$)/;

/**
 * The rules for every response: no 5xx; as documented; nothing of another club, of the database or of the code; and what
 * was answered with 2xx is stored.
 */
export function rulesOf(app: App, others: ClubMarks[]): Rules {
  const check = assertDocumented(app);
  return async (request, response, send) => {
    const { status, body, text } = response;
    if (status >= 500) {
      return { count: 'serverErrors', what: `${status} ${body?.code ?? text.slice(0, 200)}` };
    }
    const leaks = leaksIn(request, response, others);
    if (leaks.length > 0) {
      return { count: 'leaks', what: `${status} with ${leaks.join(', ')}` };
    }
    const what = differenceToDocument(request, response, check) ?? (await lostBy(request, response, send));
    return what === undefined
      ? undefined
      : { count: 'succeeded', what: `${status} ${body?.code ?? ''}: ${what}` };
  };
}

function leaksIn(
  request: SentRequest,
  { status, body, text, headers }: Response,
  others: ClubMarks[],
): string[] {
  const sent = JSON.stringify([request.url, request.headers, request.body.toString()]);
  const received = text + JSON.stringify(headers);
  // These repeat what was sent, such as the name of an unknown parameter.
  const ownWords =
    typeof body === 'object' ? JSON.stringify({ ...body, errors: undefined, instance: undefined }) : text;
  return [
    ...foreignTexts(others, received, sent),
    ...foreignIds(others, received, sent),
    ...Object.keys(headers).filter((name) => /^(x-evil|set-cookie)$/.test(name)),
    ...(status >= 400 ? (INTERNAL.exec(ownWords) ?? []).slice(0, 1) : []),
  ];
}

function differenceToDocument(
  { method, url }: SentRequest,
  response: Response,
  check: ReturnType<typeof assertDocumented>,
): string | undefined {
  const path = decoded(url.split('?', 1)[0] ?? '');
  try {
    if (check(method, path, response) || PAGES.test(path)) {
      return undefined;
    }
  } catch (error) {
    return (error as Error).message;
  }
  const { status, headers, body } = response;
  const isProblem = headers['content-type'] === 'application/problem+json' && body?.status === status;
  return status >= 400 && (isProblem || method === 'HEAD')
    ? undefined
    : 'no operation of the document is at this path';
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** What is not stored, although the response reports it; read as the same caller. */
async function lostBy(
  request: SentRequest,
  { status, headers, body }: Response,
  send: (request: SentRequest) => Promise<Response>,
): Promise<string | undefined> {
  const { method, url } = request;
  const isWrite = ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method);
  // A repeated response tells what an earlier request did.
  if (!isWrite || status >= 300 || headers['idempotent-replayed'] !== undefined) {
    return undefined;
  }
  const { 'content-type': _, 'if-match': __, 'idempotency-key': ___, ...caller } = request.headers;
  const member = String(caller['x-test-userid']).toLowerCase();
  if (method === 'DELETE' && url.toLowerCase().endsWith(`/${member}`)) {
    // Members who deleted themselves are callers no longer.
    delete caller['x-test-userid'];
  }
  const readAt = (path: string) => send({ method: 'GET', url: path, headers: caller, body: Buffer.alloc(0) });
  const atUrl = await readAt(String(headers.location ?? url));
  const readRow = ({ id }: { id: string }) => readAt(`${url.split('/').slice(0, 3).join('/')}/${id}`);
  // What a path without a GET returns is a row of its list, such as a member whose membership is set.
  const read =
    method !== 'DELETE' && atUrl.status >= 400 && body?.id !== undefined ? await readRow(body) : atUrl;
  if (method === 'DELETE') {
    // A path without a GET is deleted again.
    const hasNoGet = read.status === 405;
    const again = hasNoGet ? await send({ ...request, headers: caller, body: Buffer.alloc(0) }) : read;
    return again.status === 404 ? undefined : `it is read as ${again.status} ${again.text}`;
  }
  if (Array.isArray(body)) {
    const isListed = (row: unknown) => read.body.some((one: unknown) => isDeepStrictEqual(one, row));
    // Not in its list is a row that was there already and has changed, such as a member who has left.
    for (const row of body.length > 100 ? [] : body.filter((row) => !isListed(row))) {
      const { status, text, body: found } = await readRow(row);
      if (!isDeepStrictEqual(found, row)) {
        return `${JSON.stringify(row)} is read as ${status} ${text}`;
      }
    }
    return undefined;
  }
  // The URL of a calendar is a secret that is shown once.
  const shown = body.url === undefined ? body : { ...body, url: null };
  if (!isDeepStrictEqual(read.body, shown)) {
    return `answered as ${JSON.stringify(body)}, read as ${read.status} ${read.text}`;
  }
  const lost = Object.entries(fieldsOf(request.body)).filter(
    ([name, value]) =>
      // The version is a condition: it is compared, not stored.
      name !== 'version' &&
      // The id of the member of the response.
      !(name === 'into' && isSame(value, body.id)) &&
      // Null minutes are the length of the shift.
      !(name === 'minutes' && value === null) &&
      !(Object.hasOwn(body, name) && isSame(value, body[name])),
  );
  return lost.length === 0
    ? undefined
    : `${JSON.stringify(lost).slice(0, 500)} is read as ${read.text.slice(0, 500)}`;
}

function fieldsOf(body: Buffer): object {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body) || '{}');
  } catch {
    return { 'a body that is not JSON in UTF-8': null };
  }
}

/** Whether a value was stored: a text without blanks around it, a time in UTC, an id in lower case. */
function isSame(sent: unknown, stored: unknown): boolean {
  if (typeof sent === 'string' && stored === null) {
    return sent.trim() === '';
  }
  if (typeof sent !== 'string' || typeof stored !== 'string') {
    return isDeepStrictEqual(sent, stored);
  }
  const isTime = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(stored);
  const isId = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(stored);
  return (
    sent.trim() === stored ||
    (isTime && Date.parse(sent.toUpperCase()) === Date.parse(stored)) ||
    (isId && sent.toLowerCase() === stored)
  );
}
