import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { connectAsRuntime } from '../../../setup/runtime.js';
import type { Response } from '../../../setup/send.js';
import { runAudit, startService, type TestService } from '../../../setup/service.js';
import { shiftRequest } from '../../../setup/shifts.js';
import { type FuzzRequest, type Meaning, type Noun, ROLES, ROWS, resolve } from './request.js';

/** A text that only the other club has. */
export const CANARY = 'canary-of-the-other-club';

/** Sends a random request; returns the answer. */
export type Send = (request: FuzzRequest) => Promise<Response>;

export interface Site {
  service: TestService;
  send: Send;
  /** Deletes created rows that no placeholder refers to any more. */
  tidy(): Promise<void>;
}

/** The service with two clubs and a few rows; new rows replace these in turn. */
export async function openSite(t: Test): Promise<Site> {
  const service = await startService(t, { testUserHeader: true });
  await runAudit(service.app);
  const [own, foreign] = [await service.db.makeClub('own'), await service.db.makeClub('foreign')];
  const tokens = new Map<string, string>();
  const ids: Record<Noun, string[]> = { task: [], shift: [], member: [], club: [own, foreign] };
  for (const role of ROLES) {
    tokens.set(role, service.token({ sub: role, name: role, clubs: { [own]: role } }));
    ids.member.push(await service.as(role, role, own).memberId());
  }
  const stranger = service.as(CANARY, 'Admin', foreign, { email: `${CANARY}@example.org` });
  ids.member[ROWS.member - 1] = await stranger.memberId();
  const admin = service.as('Admin', 'Admin', own);
  for (let index = 0; index < ROWS.task; index += 1) {
    const person = index === ROWS.task - 1 ? stranger : admin;
    const title = index === ROWS.task - 1 ? CANARY : 'Bar';
    ids.task.push((await person.post('/api/tasks', { title })).body.id);
    ids.shift.push((await person.post('/api/shifts', shiftRequest({ title }))).body.id);
  }

  const meaning: Meaning = {
    id: (noun, index) => ids[noun][index % ids[noun].length] as string,
    token: (role) => tokens.get(role) as string,
  };
  const made = { task: 0, shift: 0 };

  const inject = ({ method, url, headers, body }: FuzzRequest) => {
    const named = Object.entries(headers).map(([name, value]) => [name, resolve(value, meaning)]);
    const options = {
      method: method as 'GET',
      url: resolve(url, meaning),
      headers: Object.fromEntries(named),
    };
    const payload =
      body && ('text' in body ? resolve(body.text, meaning) : Buffer.from(body.base64, 'base64'));
    return service.app.inject(payload?.length ? { ...options, payload } : options);
  };

  const send: Send = async (request) => {
    let response = await inject(request);
    // On a busy machine an answer can be late. The request is repeated, as Retry-After says; a request that is
    // the cause fails again.
    for (let again = 0; again < 5 && response.statusCode === 503; again += 1) {
      await sleep(1_000);
      response = await inject(request);
    }
    const { statusCode: status, headers: sent, body: text } = response;
    const isJson = String(sent['content-type'] ?? '').includes('json') && text !== '';
    const answer: Response = { status, headers: sent, body: isJson ? response.json() : undefined, text };
    const [, plural = '', id] = /^\/api\/(task|shift)s\/([^/]+)$/.exec(String(sent.location ?? '')) ?? [];
    if (status === 201 && id !== undefined) {
      const noun = plural as 'task' | 'shift';
      if (!ids[noun].includes(id)) {
        ids[noun][made[noun] % (ROWS[noun] - 1)] = id;
        made[noun] += 1;
      }
    }
    return answer;
  };

  const session = await connectAsRuntime(t, service.db);
  const caller = { clubId: own, subject: 'Admin', role: 'Admin' as const };
  const tidy = async () => {
    for (const noun of ['task', 'shift'] as const) {
      const { code } = await session.run(caller, `delete from app.${noun}s where id <> all ($1)`, [
        ids[noun],
      ]);
      if (code !== 'ok') {
        throw new Error(`The rows of before cannot be deleted: ${code}.`);
      }
    }
  };
  return { service, send, tidy };
}
