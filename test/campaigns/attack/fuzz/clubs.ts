import { setTimeout as sleep } from 'node:timers/promises';
import type { DestinationStream } from 'pino';
import type { Test } from 'tap';
import { ROLES } from '../../../../src/roles.js';
import { fit, makers, textsOf } from '../../../setup/endpoints.js';
import { type Response, responseOf } from '../../../setup/send.js';
import { runAudit, startService, type TestService } from '../../../setup/service.js';
import type { FuzzRequest } from './requests.js';
import { rulesOf, type SentRequest } from './rules.js';
import { type Finding, lanesOf } from './search.js';

/** A text that only the other club has. */
const CANARY = 'canary-of-the-other-club';
const ROWS = 6;
const LANES = lanesOf(8);

/** The ids of rows and the tokens by their names in requests, such as `tasks-0` and `token-Admin`. */
type Names = Map<string, string>;
const NAME = /\b[a-z]+-(?:\d|[a-z]+)\b/gi;

export interface FuzzedService {
  service: TestService;
  /** Send a request and check the response. Each lane has its own club, to avoid changing the rows of another. */
  lanes: ((request: FuzzRequest) => Promise<Finding | undefined>)[];
  /** The number of responses by their status. */
  counts: Map<number, number>;
}

/** Starts the service with a club for each lane, and another club, whose rows no response may show. */
export async function startFuzzedService(t: Test, log?: DestinationStream): Promise<FuzzedService> {
  const service = await startService(
    t,
    { testUserHeader: true, publicUrl: 'https://clubs.example.org' },
    undefined,
    log,
  );
  await runAudit(service);
  const other = await makeClub(service, CANARY);
  const check = rulesOf(service.app, [{ words: [CANARY], ids: new Set(other.values()) }]);
  const counts = new Map<number, number>();

  const send = async ({ method, url, headers, body }: SentRequest): Promise<Response> => {
    const inject = async () => {
      const sent = await service.app.inject({
        method: method as 'GET',
        url,
        headers,
        ...(body.length > 0 && { payload: body }),
      });
      counts.set(sent.statusCode, (counts.get(sent.statusCode) ?? 0) + 1);
      return sent;
    };
    let response = await inject();
    // On a slow machine a response can be late. A request that is the cause of a 503 causes it again.
    for (let attempt = 1; response.statusCode === 503 && attempt <= 3; attempt += 1) {
      await sleep(1_000);
      response = await inject();
    }
    return responseOf(response.statusCode, response.headers, response.body);
  };

  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const names = await makeClub(service, `club-of-lane-${lane}`);
    for (const list of lists) {
      names.set(`${list}-9`, other.get(`${list}-0`) as string);
    }
    let created = 0;
    return async (request: FuzzRequest): Promise<Finding | undefined> => {
      const sent = withIds(request, names);
      const answer = await send(sent);
      const finding = await check(sent, answer, send);
      // Created rows replace the earlier ones in turn.
      const [, list, id] = /^\/api\/([\w-]+)\/([^/]+)$/.exec(String(answer.headers.location)) ?? [];
      if (answer.status === 201 && id !== undefined) {
        names.set(`${list}-${created % ROWS}`, id);
        created += 1;
      }
      return finding;
    };
  });
  return { service, lanes: await Promise.all(lanes), counts };
}

const listOf = (path: string) => path.slice('/api/'.length);
const lists = ['clubs', 'members', 'events', ...makers.map(({ path }) => listOf(path))];

/** A club with a member for each role, and rows of each list that have this text in each of their texts. */
async function makeClub(service: TestService, text: string): Promise<Names> {
  const club = await service.db.makeClub(text);
  const names: Names = new Map([['clubs-0', club]]);
  for (const [index, role] of ROLES.entries()) {
    const claims = { name: text, email: `${text}@example.org` };
    const subject = `${text}-${role}`;
    names.set(`token-${role}`, service.token({ sub: subject, clubs: { [club]: role }, ...claims }));
    names.set(`members-${index}`, await service.as(subject, role, club, claims).memberId());
  }
  const admin = service.as(`${text}-Admin`, 'Admin', club);
  const rows: Record<string, string> = { '/api/members': names.get('members-0') as string };
  for (const { path, body } of makers) {
    const texts = Object.fromEntries(textsOf(path).map((name) => [name, text]));
    for (let index = 0; index < ROWS; index += 1) {
      const { id } = (await admin.post(path, { ...fit(body as object, rows), ...texts })).body;
      names.set(`${listOf(path)}-${index}`, id);
      rows[path] = id;
    }
  }
  const { body: events } = await admin.get(`/api/events?limit=${ROWS}`);
  for (const [index, { id }] of events.entries()) {
    names.set(`events-${index}`, id);
  }
  return names;
}

/** The request with ids and tokens instead of names; a name in capitals is an id in capitals. */
function withIds({ method, url, headers, body }: FuzzRequest, names: Names): SentRequest {
  const resolve = (text: string) =>
    text.replace(NAME, (name) => {
      const value = names.get(name) ?? names.get(name.toLowerCase());
      return value === undefined
        ? name
        : name === name.toLowerCase() || names.has(name)
          ? value
          : value.toUpperCase();
    });
  const bytes =
    body && ('text' in body ? Buffer.from(resolve(body.text)) : Buffer.from(body.base64, 'base64'));
  return {
    method,
    url: resolve(url),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, resolve(value)])),
    body: bytes ?? Buffer.alloc(0),
  };
}
