import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import plugin from 'fastify-plugin';
import type { Database } from '../database/database.js';
import { QUEUE_FULL } from '../database/errors.js';
import { Pipelines } from '../http/pipelines.js';
import { Rounds } from '../http/rounds.js';
import { pathOf } from '../http/target.js';
import { Turns } from '../http/turns.js';
import { tellSometimes } from '../log.js';
import { problemFromDatabase } from '../problems/from-database.js';
import type { Problem } from '../problems/problem.js';
import { isUuid } from '../validation/uuid.js';
import { RETRY_AFTER_S } from './problems.js';
import { SECURITY_HEADERS } from './security-headers.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** How many requests were refused at the door since the start. */
    turnedAway(): number;
  }
}

/** How many callers are remembered at once; beyond that all are forgotten, and looked at once more. */
const REMEMBERED_CALLERS = 10_000;

/** How many wait for their refusal at most, of all clients; and how many for the answers before theirs. */
const LONGEST_LINE = 5_000;

/**
 * Repeats the word to whoever was told that their club asks for too much, as long as that is so, at the door: before
 * the request is routed, or anything of it is read but its head. In an overload refusing is the work, and what it
 * costs is missing to those who are served, and to every other club.
 *
 * Only ever a refusal is remembered, and only for the very token and club that it was given to: nobody gets in by
 * it, and nobody learns of a club that they have no role in. A page in a browser goes the long way, where the headers
 * are that let it read the answer.
 */
export const overload = plugin<{ database: Database }>(
  async (app, { database }) => {
    const told = new Set<string>();
    let turnedAway = 0;
    app.decorate('turnedAway', () => turnedAway);

    app.addHook('onError', async ({ headers }, _reply, error) => {
      if ((error as Error) === QUEUE_FULL) {
        if (told.size >= REMEMBERED_CALLERS) {
          told.clear();
        }
        told.add(callerOf(headers, clubOf(headers)));
      }
    });

    const isTold = ({ url, headers }: IncomingMessage, club: string) =>
      told.size > 0 &&
      database.isFull(club) &&
      headers.origin === undefined &&
      !app.isDraining &&
      pathOf(url ?? '').startsWith('/api/') &&
      told.has(callerOf(headers, club));
    // A line for each would be a part of the overload.
    const tell = tellSometimes<string>((refused, tenant) =>
      app.log.warn({ refused, tenant }, 'overload: requests refused at the door'),
    );

    // Refusing takes time as well, and a flood can ask for all of it. Whoever waits for their refusal sends nothing else.
    // It is not asked again whether there is room by then: that is for who comes just now, and has not waited twice.
    const turns = new Turns(LONGEST_LINE);
    const rounds = new Rounds();
    const [handle] = app.server.listeners('request') as [RequestListener];
    const receive = (request: IncomingMessage, response: ServerResponse, club: string) => {
      if (response.destroyed) {
        return;
      }
      if (isTold(request, club)) {
        turnedAway += 1;
        tell(club);
        if (!turns.take(() => refuse(response))) {
          response.destroy();
        }
        return;
      }
      handle(request, response);
    };
    app.server.on('connection', () => rounds.arrive());
    const pipelines = new Pipelines(LONGEST_LINE);
    app.server.removeListener('request', handle).on('request', (request, response) =>
      pipelines.take(request, response, () => {
        const club = clubOf(request.headers);
        rounds.take(club, () => receive(request, response, club));
      }),
    );
  },
  { name: 'overload', dependencies: ['problems', 'drain'] },
);

/** Whatever is no club's id is one name, because names are remembered that nobody has looked at. */
function clubOf({ 'x-tenant-id': id }: IncomingHttpHeaders): string {
  return typeof id === 'string' && isUuid(id) ? id.toLowerCase() : 'none';
}

function callerOf({ authorization }: IncomingHttpHeaders, club: string): string {
  return `${club} ${authorization}`;
}

const TOO_MUCH = problemFromDatabase(QUEUE_FULL) as Problem;
// Names and values in one list, which is written as it stands: of an object Node.js would make one for each refusal.
const HEADERS = Object.entries({
  ...SECURITY_HEADERS,
  'content-type': 'application/problem+json',
  'retry-after': RETRY_AFTER_S,
  'cache-control': 'private, no-cache',
  vary: 'Authorization, X-Tenant-Id',
}).flat();

function refuse(response: ServerResponse): void {
  if (response.destroyed) {
    return;
  }
  const { url = '' } = response.req;
  const requestId = randomUUID();
  // As bytes: beside text, Node.js leaves the head in the dozens of pieces that it was put together from, and a response
  // that has waited until V8 thinks it old keeps them until the next large collection.
  const body = Buffer.from(JSON.stringify(TOO_MUCH.toBody(pathOf(url), requestId)));
  response.writeHead(503, [...HEADERS, 'x-request-id', requestId, 'content-length', body.length]).end(body);
}
