import { setTimeout as sleep } from 'node:timers/promises';
import type { Role } from '../../../src/roles.js';
import { randomOf } from '../random.js';
import { foreignIds, foreignTexts } from '../rules.js';
import { contentOf, isUnknown, type Operation, type Row, recordText } from './history.js';
import type { Club, Target } from './testbed.js';
import { openWire, type Send } from './wire.js';

/** A member of a club, whose requests are sequential and recorded. */
export interface Member {
  club: Club;
  subject: string;
  role: Role;
  id: string;
  random(): number;
  /** Sends a request, records the operation and returns it. */
  act(request: Request): Promise<Recorded>;
  leave(): void;
}

export interface Request
  extends Pick<
    Operation,
    'kind' | 'target' | 'holder' | 'into' | 'key' | 'marker' | 'named' | 'content' | 'capacity'
  > {
  method: string;
  path: string;
  body?: unknown;
}

/** An operation, and the first row of the response. */
export interface Recorded {
  operation: Operation;
  // biome-ignore lint/suspicious/noExplicitAny: clients look into bodies of every shape
  body: any;
}

/** The texts and ids of the clubs but this one in a text. */
export function foreignIn(text: string, { clubs }: Target, canary: string): string[] {
  const others = clubs
    .filter((club) => club.canary !== canary)
    .map((club) => ({ words: [club.canary], ids: [club.id, ...club.memberIds] }));
  return [...foreignTexts(others, text), ...foreignIds(others, text)];
}

/** Joins the club: the first request creates the member, before any fault. */
export async function join(
  target: Target,
  club: Club,
  subject: string,
  role: Role,
  options: { entrance: string; seed: number; patienceMs: number; restInDoubtMs: number },
): Promise<Member> {
  const { entrance, seed, patienceMs, restInDoubtMs } = options;
  const { send, close } = openWire(entrance, patienceMs);
  const headers = {
    authorization: `Bearer ${target.token(club, subject, role)}`,
    'x-tenant-id': club.id,
  };
  const id = await ownId(send, headers);
  club.memberIds.push(id);
  return {
    club,
    subject,
    role,
    id,
    random: randomOf(seed),
    leave: close,
    act: async ({ method, path, body, ...about }) => {
      const called = target.now();
      const key = about.key === undefined ? {} : { 'idempotency-key': about.key };
      const response = await send(method, path, { ...headers, ...key }, body);
      const operation: Operation = {
        ...about,
        club: club.canary,
        member: id,
        entrance,
        called,
        returned: target.now(),
        ...('failure' in response
          ? { status: null, failure: response.failure, rows: [], foreign: [] }
          : {
              status: response.status,
              ...(response.body?.code !== undefined && { code: response.body.code }),
              retryAfter: response.headers['retry-after'] !== undefined,
              ...ofMember(response.body),
              ...(about.kind === 'enter member' && { holder: response.body?.id }),
              ...(about.kind === 'merge' && { text: response.text }),
              ...(about.kind === 'read waits' &&
                response.status === 200 && { queue: queueOf(response.body) }),
              rows: response.status < 300 ? rowsOf(response.body) : [],
              foreign: foreignIn(response.text, target, club.canary),
            }),
      };
      target.operations.push(operation);
      if (isUnknown(operation)) {
        await sleep(restInDoubtMs);
      }
      return { operation, body: 'failure' in response ? undefined : response.body };
    },
  };
}

/** Joining is not checked, and some planted defects make it fail occasionally. */
async function ownId(send: Send, headers: Record<string, string>): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    const response = await send('GET', '/api/members/me', headers);
    if (!('failure' in response) && response.status === 200) {
      return response.body.id;
    }
    if (tries === 10) {
      throw new Error(`A member cannot join: ${JSON.stringify(response)}`);
    }
    await sleep(50);
  }
}

/** What a response says of a signup, a wait or a record of attendance. */
// biome-ignore lint/suspicious/noExplicitAny: clients look into bodies of every shape
function ofMember(body: any): Partial<Operation> {
  if (body?.code === 'attendance_version_conflict') {
    return { currentVersion: body.currentVersion ?? null };
  }
  if (body?.status !== undefined && body.recordedById !== undefined) {
    const { version, status, minutes, recordedById } = body;
    return { record: recordText(version, contentOf(status, minutes), recordedById) };
  }
  return body?.shiftId === undefined ? {} : { creator: body.createdById };
}

function queueOf(waits: { memberId: string }[]): string[] {
  return waits.map(({ memberId }) => memberId);
}

/** The tasks and shifts of a response; members, signups and waits have no version, records no id. */
// biome-ignore lint/suspicious/noExplicitAny: clients look into bodies of every shape
function rowsOf(body: any): Row[] {
  const rows = Array.isArray(body) ? body : body === undefined ? [] : [body];
  return rows
    .filter(({ id, version }) => id !== undefined && version !== undefined)
    .map(({ id, version, title, state, capacity, signups, ...more }) => ({
      id,
      version,
      content: `${title}|${state ?? capacity}`,
      ...(capacity !== undefined && { capacity, ...placesOf(more) }),
      ...(signups !== undefined && {
        members: signups.map(({ memberId }: { memberId: string }) => memberId),
      }),
    }));
}

// biome-ignore lint/suspicious/noExplicitAny: clients look into bodies of every shape
function placesOf({ signupCount, waitCount, isSignedUp, isWaiting }: any): Partial<Row> {
  return { signupCount, waitCount, isSignedUp, isWaiting };
}
