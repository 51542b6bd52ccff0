import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Caller, headOf, type Signer } from './callers.js';
import type { Contender } from './contenders.js';
import { clubId } from './data.js';
import { Wire } from './wire.js';
import { moveCursor, windowQuery } from './workloads.js';

/** A request and the status that every contender must give it. */
interface Question {
  says: string;
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
 * @returns descriptions of the differences; empty when all answers are equal
 */
export async function findDifferences(
  contenders: { contender: Contender; cursors: Map<string, string> }[],
  callers: Caller[],
  signer: Signer,
): Promise<string[]> {
  const differences: string[] = [];
  const answers = new Map<string, unknown>();
  for (const { contender, cursors } of contenders) {
    const wire = await Wire.connect(contender.port);
    for (const question of callers
      .slice(0, 3)
      .flatMap((caller) => questionsOf(caller, callers, cursors, signer))) {
      const { status, body } = await wire.ask(question.request);
      const seen = `${contender.name}, ${question.says}: ${status} ${body.slice(0, 300)}`;
      if (status !== question.status) {
        differences.push(`${seen} instead of ${question.status}`);
        continue;
      }
      const answer = comparable(status, body);
      if (!answers.has(question.says)) {
        answers.set(question.says, answer);
      } else if (!isDeepStrictEqual(answers.get(question.says), answer)) {
        differences.push(`${seen} is not what ${contenders[0]?.contender.name} answers`);
      }
    }
    wire.close();
  }
  return differences;
}

function questionsOf(
  caller: Caller,
  callers: Caller[],
  cursors: Map<string, string>,
  signer: Signer,
): Question[] {
  const { head, mark, taskIds, shiftId, positions } = caller;
  const stranger = callers.find((other) => other.clubId !== caller.clubId) as Caller;
  const cursor = moveCursor(cursors.get(caller.clubId) as string, positions[0] as Caller['positions'][0]);
  const expired = signer.token('caller-1', caller.clubId, { exp: Math.floor(Date.now() / 1000) - 60 });
  const other = signer.token('caller-1', caller.clubId, { aud: 'somebody-else' });
  const forged = `${signer.token('caller-1', caller.clubId).slice(0, -8)}AAAAAAAA`;
  const nobody = signer.token('caller-1', clubId(999_999));
  const patch = `{"title":"Task 0 of ${mark}"}`;
  const ask = (method: string, path: string, as = head, body = ''): string =>
    `${method} ${path} HTTP/1.1\r\n${as}${body === '' ? '' : 'Content-Type: application/json\r\n'}` +
    `${method === 'GET' ? '' : `Content-Length: ${body.length}\r\n`}\r\n${body}`;
  const question = (says: string, request: string, status: number): Question => ({
    says: `${says} (club ${mark})`,
    request,
    status,
  });
  const keyed = `${head}Idempotency-Key: ${randomUUID()}\r\n`;
  return [
    question('page 1 of the tasks', ask('GET', '/api/tasks?limit=20'), 200),
    question('a deep page of the tasks', ask('GET', `/api/tasks?limit=20&cursor=${cursor}`), 200),
    question('one task', ask('GET', `/api/tasks/${taskIds[0]}`), 200),
    question('a window of shifts', ask('GET', `/api/shifts?${windowQuery(DAY)}`), 200),
    question('a patch', ask('PATCH', `/api/tasks/${taskIds[1]}`, head, patch), 200),
    question('a signup', ask('POST', `/api/shifts/${shiftId}/signup`), 201),
    question('a second signup', ask('POST', `/api/shifts/${shiftId}/signup`), 409),
    question('a cancellation', ask('DELETE', `/api/shifts/${shiftId}/signup`), 204),
    question('a signup with a key', ask('POST', `/api/shifts/${shiftId}/signup`, keyed), 201),
    question('the same again', ask('POST', `/api/shifts/${shiftId}/signup`, keyed), 201),
    question('a second cancellation', ask('DELETE', `/api/shifts/${shiftId}/signup`), 204),
    question("another club's task", ask('GET', `/api/tasks/${stranger.taskIds[0]}`), 404),
    question("another club's shift", ask('POST', `/api/shifts/${stranger.shiftId}/signup`), 404),
    question('no token', ask('GET', '/api/tasks?limit=20', 'Host: 127.0.0.1\r\n'), 401),
    question('an expired token', ask('GET', '/api/tasks?limit=20', headOf(expired, caller.clubId)), 401),
    question(
      'a token for somebody else',
      ask('GET', '/api/tasks?limit=20', headOf(other, caller.clubId)),
      401,
    ),
    question('a forged token', ask('GET', '/api/tasks?limit=20', headOf(forged, caller.clubId)), 401),
    question(
      'a club that the token does not name',
      ask('GET', '/api/tasks?limit=20', swapClub(head, stranger)),
      403,
    ),
    question(
      'a club that does not exist',
      ask('GET', '/api/tasks?limit=20', headOf(nobody, clubId(999_999))),
      403,
    ),
    question('a task id that is none', ask('GET', '/api/tasks/17'), 400),
    question('too long a page', ask('GET', '/api/tasks?limit=501'), 400),
  ];
}

/** A fixed time window, the same for all contenders. */
const DAY = Math.floor(Date.now() / 86_400_000) * 86_400_000;

const swapClub = (head: string, { clubId: id }: Caller): string =>
  head.replace(/X-Tenant-Id: \S+/, `X-Tenant-Id: ${id}`);

/** The part of an answer that is compared: its rows, or the code of an error, whose other members are for people. */
function comparable(status: number, body: string): unknown {
  if (status >= 400) {
    return (JSON.parse(body) as { code?: string }).code;
  }
  const ignored = status === 201 ? [...PASSING, ...CREATED] : PASSING;
  return body === ''
    ? undefined
    : JSON.parse(body, (key, value) => (ignored.includes(key) ? undefined : value));
}
