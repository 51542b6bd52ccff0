import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Caller, headOf, type Signer } from './callers.js';
import type { Contender } from './contenders.js';
import { clubId } from './data.js';
import { Wire } from './wire.js';
import { moveCursor, windowQuery } from './workloads.js';

/** A request and the status that every contender must return. */
interface Example {
  name: string;
  request: string;
  status: number;
}

/** Members of a row that differ from one request to the next, and of a created one. */
const PASSING = ['updatedAt', 'version'];
const CREATED = ['id', 'createdAt'];

/**
 * Sends the same requests to every contender and the service, to check that the comparison is fair: the same rows in the
 * same format, and the same status and code of errors.
 *
 * @returns descriptions of the differences; empty when all responses are equal
 */
export async function findDifferences(
  contenders: { contender: Contender; cursors: Map<string, string> }[],
  callers: Caller[],
  signer: Signer,
): Promise<string[]> {
  const differences: string[] = [];
  const responses = new Map<string, unknown>();
  for (const { contender, cursors } of contenders) {
    const wire = await Wire.connect(contender.port);
    for (const example of callers
      .slice(0, 3)
      .flatMap((caller) => examplesOf(caller, callers, cursors, signer))) {
      const { status, body } = await wire.request(example.request);
      const seen = `${contender.name}, ${example.name}: ${status} ${body.slice(0, 300)}`;
      if (status !== example.status) {
        differences.push(`${seen} instead of ${example.status}`);
        continue;
      }
      const response = comparable(status, body);
      if (!responses.has(example.name)) {
        responses.set(example.name, response);
      } else if (!isDeepStrictEqual(responses.get(example.name), response)) {
        differences.push(`${seen} differs from ${contenders[0]?.contender.name}`);
      }
    }
    wire.close();
  }
  return differences;
}

function examplesOf(
  caller: Caller,
  callers: Caller[],
  cursors: Map<string, string>,
  signer: Signer,
): Example[] {
  const { head, mark, taskIds, shiftId, positions } = caller;
  const stranger = callers.find((other) => other.clubId !== caller.clubId) as Caller;
  const cursor = moveCursor(cursors.get(caller.clubId) as string, positions[0] as Caller['positions'][0]);
  const expired = signer.token('caller-1', caller.clubId, { exp: Math.floor(Date.now() / 1000) - 60 });
  const other = signer.token('caller-1', caller.clubId, { aud: 'somebody-else' });
  const forged = `${signer.token('caller-1', caller.clubId).slice(0, -8)}AAAAAAAA`;
  const outsider = signer.token('caller-1', clubId(999_999));
  const patch = `{"title":"Task 0 of ${mark}"}`;
  const requestOf = (method: string, path: string, as = head, body = ''): string =>
    `${method} ${path} HTTP/1.1\r\n${as}${body === '' ? '' : 'Content-Type: application/json\r\n'}` +
    `${method === 'GET' ? '' : `Content-Length: ${body.length}\r\n`}\r\n${body}`;
  const example = (name: string, request: string, status: number): Example => ({
    name: `${name} (club ${mark})`,
    request,
    status,
  });
  const keyed = `${head}Idempotency-Key: ${randomUUID()}\r\n`;
  return [
    example('page 1 of the tasks', requestOf('GET', '/api/tasks?limit=20'), 200),
    example('a deep page of the tasks', requestOf('GET', `/api/tasks?limit=20&cursor=${cursor}`), 200),
    example('one task', requestOf('GET', `/api/tasks/${taskIds[0]}`), 200),
    example('a window of shifts', requestOf('GET', `/api/shifts?${windowQuery(DAY)}`), 200),
    example('a patch', requestOf('PATCH', `/api/tasks/${taskIds[1]}`, head, patch), 200),
    example(
      'a patch of an old version',
      requestOf('PATCH', `/api/tasks/${taskIds[1]}`, head, '{"version":2147483647}'),
      409,
    ),
    example(
      "a patch of another club's task",
      requestOf('PATCH', `/api/tasks/${stranger.taskIds[0]}`, head, patch),
      404,
    ),
    example(
      'a step that the workflow does not have',
      requestOf('PATCH', `/api/tasks/${taskIds[1]}`, head, `{"state":"Open","assigneeId":"${taskIds[1]}"}`),
      422,
    ),
    example('a signup', requestOf('POST', `/api/shifts/${shiftId}/signup`), 201),
    example('a second signup', requestOf('POST', `/api/shifts/${shiftId}/signup`), 409),
    example('a cancellation', requestOf('DELETE', `/api/shifts/${shiftId}/signup`), 204),
    example('a signup with a key', requestOf('POST', `/api/shifts/${shiftId}/signup`, keyed), 201),
    example('the same again', requestOf('POST', `/api/shifts/${shiftId}/signup`, keyed), 201),
    example('a second cancellation', requestOf('DELETE', `/api/shifts/${shiftId}/signup`), 204),
    example("another club's task", requestOf('GET', `/api/tasks/${stranger.taskIds[0]}`), 404),
    example("another club's shift", requestOf('POST', `/api/shifts/${stranger.shiftId}/signup`), 404),
    example('no token', requestOf('GET', '/api/tasks?limit=20', 'Host: 127.0.0.1\r\n'), 401),
    example('an expired token', requestOf('GET', '/api/tasks?limit=20', headOf(expired, caller.clubId)), 401),
    example(
      'a token for somebody else',
      requestOf('GET', '/api/tasks?limit=20', headOf(other, caller.clubId)),
      401,
    ),
    example('a forged token', requestOf('GET', '/api/tasks?limit=20', headOf(forged, caller.clubId)), 401),
    example(
      'a club that is not in the token',
      requestOf('GET', '/api/tasks?limit=20', swapClub(head, stranger)),
      403,
    ),
    example(
      'a club that does not exist',
      requestOf('GET', '/api/tasks?limit=20', headOf(outsider, clubId(999_999))),
      403,
    ),
    example('an invalid task id', requestOf('GET', '/api/tasks/17'), 400),
    example('too long a page', requestOf('GET', '/api/tasks?limit=501'), 400),
  ];
}

/** A fixed time window, the same for all contenders. */
const DAY = Math.floor(Date.now() / 86_400_000) * 86_400_000;

const swapClub = (head: string, { clubId: id }: Caller): string =>
  head.replace(/X-Tenant-Id: \S+/, `X-Tenant-Id: ${id}`);

/** The part of a response that is compared: its rows, or the code of an error, whose other members are for people. */
function comparable(status: number, body: string): unknown {
  if (status >= 400) {
    return (JSON.parse(body) as { code?: string }).code;
  }
  const ignored = status === 201 ? [...PASSING, ...CREATED] : PASSING;
  return body === ''
    ? undefined
    : JSON.parse(body, (key, value) => (ignored.includes(key) ? undefined : value));
}
