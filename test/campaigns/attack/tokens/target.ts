import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Test } from 'tap';
import { buildApp } from '../../../../src/app.js';
import { readServerConfig } from '../../../../src/config.js';
import { Database } from '../../../../src/database/database.js';
import { makeDatabase } from '../../../setup/database.js';
import { AUDIENCE, type Issuer, startIssuer } from '../../../setup/issuer.js';
import { type Response, type SendLines, sendLinesTo } from '../../../setup/send.js';
import { isRecord } from '../secrets.js';
import type { Tally } from '../tally.js';
import { KEYS_FOR_ANOTHER_USE } from './keys.js';

/** One request that must be refused, in exactly one of these ways. */
export interface Attempt {
  fault: string;
  /** Sent as `Bearer …`, unless there are header lines. No part of it may be in the answer. */
  token: string;
  lines?: [name: string, value: string][];
  method?: string;
  path?: string;
  body?: string;
  /** 401 by default. */
  expect?: number[];
}

/** The service on a real database, over real sockets, with an issuer that signs anything. */
export interface Target {
  provider: Issuer;
  sendLines: SendLines;
  database: Database;
  /** Two clubs; the attacker's goal is Admin in both. */
  north: string;
  south: string;
  /** A valid token of an Admin of north. */
  admin(claims?: Record<string, unknown>): string;
  /** The error code for a token without a tenant header; `ACCEPTED` for a valid token. */
  code(token: string): Promise<string>;
  strike(tally: Tally, attempts: Attempt[]): Promise<void>;
  /** The number of members: a successful attack would create one. */
  countMembers(): Promise<number>;
}

/** A canary in the claims of every token. */
export const CANARY = 'kanarienvogel';
/** The number of consecutive characters that identify a part of a token. */
const PART = 12;
const AT_ONCE = 16;
const HANG_MS = 10_000;

/** The requests that test a token: reads, writes, and one that would create a member. */
const DOORS: [method: string, path: string][] = [
  ['GET', '/api/clubs/me'],
  ['GET', '/api/tasks'],
  ['GET', '/api/members/me'],
  ['POST', '/api/tasks'],
  ['DELETE', '/api/shifts/99999999-9999-4999-8999-999999999999'],
];

export async function openTarget(t: Test, settings: Record<string, string> = {}): Promise<Target> {
  const db = await makeDatabase(t);
  const [north, south] = [await db.makeClub('north'), await db.makeClub('south')];
  const provider = await startIssuer(t);
  const { keys } = provider.documents.get('/jwks') as { keys: object[] };
  keys.push(...KEYS_FOR_ANOTHER_USE);
  const environment = {
    DATABASE_URL: db.url,
    AUTH_ISSUER: provider.url,
    AUTH_AUDIENCE: AUDIENCE,
    // One caller sends more requests than the rate limit allows.
    RATE_LIMIT_PER_MINUTE: '0',
  };
  const config = readServerConfig({ NODE_ENV: 'test', ...environment, ...settings }, {});
  const database = new Database(config.database);
  const written: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => written.push(line) });
  const app = await buildApp(config, database, logger, null);
  t.teardown(async () => {
    await app.close();
    await database.close();
  });
  const sendLines = await sendLinesTo(app);

  const send = async (attempt: Attempt, index: number): Promise<Response | Error> => {
    const [method, path] = DOORS[index % DOORS.length] as (typeof DOORS)[number];
    const lines = attempt.lines ?? [['authorization', `Bearer ${attempt.token}`]];
    const isTenantNamed = lines.some(([name]) => name.toLowerCase() === 'x-tenant-id');
    const all: typeof lines = isTenantNamed ? lines : [...lines, ['x-tenant-id', north]];
    const answer = sendLines(attempt.method ?? method, attempt.path ?? path, all, attempt.body);
    const hang = sleep(HANG_MS, new Error('no answer'), { ref: false });
    return Promise.race([answer, hang]).catch((error: Error) => error);
  };

  return {
    provider,
    sendLines,
    database,
    north,
    south,
    admin: (claims = {}) => provider.sign({ sub: CANARY, clubs: { [north]: 'Admin' }, ...claims }),
    code: async (token) => {
      const answer = await sendLines('GET', '/api/clubs/current', [['authorization', `Bearer ${token}`]]);
      return answer.body.code;
    },
    countMembers: async () => Number((await db.queryAsAdmin('select count(*) from app.members'))[0]?.count),
    strike: async (tally, attempts) => {
      for (let from = 0; from < attempts.length; from += AT_ONCE) {
        const batch = attempts.slice(from, from + AT_ONCE);
        written.length = 0;
        const answers = await Promise.all(batch.map((attempt, index) => send(attempt, from + index)));
        batch.forEach((attempt, index) => {
          judge(tally, attempt, answers[index] as Response | Error);
        });
        const log = written.join('');
        const lost = written.filter((line) => !isRecord(line));
        tally.succeeded.push(...lost.map((line) => `no line of the log: ${line}`));
        if (written.length < batch.length) {
          tally.succeeded.push(`${written.length} lines of the log about ${batch.length} requests`);
        }
        for (const { fault, token } of batch) {
          if (holdsPartOf(log, token)) {
            tally.leaks.push(`${fault}: in the log`);
          }
        }
      }
    },
  };
}

function judge(tally: Tally, { fault, token, expect = [401] }: Attempt, answer: Response | Error): void {
  tally.tried += 1;
  if (answer instanceof Error) {
    tally.serverErrors.push(`${fault}: ${answer.message}`);
    return;
  }
  const { status, headers, body, text } = answer;
  const shown = `${fault}: ${status} ${text.slice(0, 200)}`;
  const isProblem =
    String(headers['content-type']).startsWith('application/problem+json') && body?.code !== undefined;
  const isChallenge = status !== 401 || /^Bearer( |$)/.test(String(headers['www-authenticate']));
  if (status >= 500) {
    tally.serverErrors.push(shown);
  } else if (!expect.includes(status) || !isProblem || !isChallenge) {
    tally.succeeded.push(shown);
  }
  if (holdsPartOf(`${JSON.stringify(headers)}\n${text}`, token)) {
    tally.leaks.push(shown);
  }
}

/** Whether a text contains a part of the token or of its claims. */
export function holdsPartOf(text: string, token: string): boolean {
  if (text.includes(CANARY)) {
    return true;
  }
  const runs = text.match(/[\w-]{12,}/g) ?? [];
  return runs.some((run) => {
    for (let start = 0; start + PART <= run.length; start += 1) {
      if (token.includes(run.slice(start, start + PART))) {
        return true;
      }
    }
    return false;
  });
}
