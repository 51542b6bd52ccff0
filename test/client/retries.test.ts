import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type ClientOptions, isProblem } from '../../client/src/index.js';
import { openClients, rejection } from '../setup/client.js';
import { stopClock } from '../setup/clock.js';
import { freePort } from '../setup/free-port.js';
import { type Action, startProxy } from '../setup/proxy.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';
import { until } from '../setup/wait.js';

const service = await startService(t);
const { db } = service;
const north = await db.makeClub('north');
const clients = await openClients(service);
const mara = await clients.as('mara', 'Manager', north);
const count = async (table: string) =>
  (await db.queryAsAdmin(`select count(*)::int from app.${table}`))[0]?.count;

/** Records waits instead of waiting. */
function hurried(): { waits: number[]; wait: NonNullable<ClientOptions['wait']> } {
  const waits: number[] = [];
  return {
    waits,
    wait: async (ms) => {
      waits.push(ms);
    },
  };
}

/** Stops the clock of dates until the test ends. */
function movableClock(t: Test): { advance: (ms: number) => void } {
  const { now } = Date;
  const start = now();
  let aheadMs = 0;
  Date.now = () => start + aheadMs;
  t.teardown(() => {
    Date.now = now;
  });
  return {
    advance: (ms) => {
      aheadMs += ms;
    },
  };
}

/** A proxy: the service does the work, and the first answers are replaced by these. */
async function behindProxy(t: Test, actions: Action[], options: Partial<ClientOptions> = {}) {
  const proxy = await startProxy(t, clients.baseUrl, () => (chunk) => [chunk]);
  const { waits, wait } = hurried();
  const client = await clients.as('dora', 'Admin', north, { baseUrl: proxy.url, wait, ...options });
  // Creates the member, without the time-out of the options.
  await (await clients.as('dora', 'Admin', north, { baseUrl: proxy.url })).clubs.current();
  proxy.onMessage = ({ from }) => (from === 'server' ? (actions.shift() ?? 'pass') : 'pass');
  return { client, waits, proxy };
}

function response(status: string, headers: string, body = ''): Action {
  const bytes = Buffer.from(`HTTP/1.1 ${status}\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`);
  return { bytes };
}

t.test('a creation happens once, even if its responses are lost', async (t) => {
  const busy = response('503 Service Unavailable', 'retry-after: 2\r\n');
  for (const actions of [
    ['cut before', 'cut before'],
    [busy, busy],
    [response('502 Bad Gateway', ''), 'cut before'],
  ]) {
    const { client } = await behindProxy(t, actions as Action[]);
    const before = await count('tasks');
    const task = await client.tasks.create({ title: 'Once' });
    t.equal(await count('tasks'), before + 1);
    t.match(await client.tasks.get(task.id), { title: 'Once', version: 1 });
  }
  const shift = await mara.shifts.create(shiftRequest());
  const { client } = await behindProxy(t, ['cut before', 'cut before']);
  t.match(await client.shifts.signUp(shift.id), { memberName: 'dora' });
  t.match(await mara.shifts.get(shift.id), { signupCount: 1 });
  await client.shifts.cancelSignUp(shift.id);
});

t.test('with the caller’s own key a request is the same after a restart', async (t) => {
  const key = { idempotencyKey: 'nightly 2031-05-01' };
  const first = await mara.tasks.create({ title: 'Nightly' }, key);
  t.same(await mara.tasks.create({ title: 'Nightly' }, key), first);
  const error = await rejection(mara.tasks.create({ title: 'Other' }, key));
  t.match(error, { code: 'idempotency_key_reused' });
});

t.test('a replay returns the first response, so a new intent needs a new key', async (t) => {
  const shift = await mara.shifts.create(shiftRequest());
  const first = await mara.shifts.signUp(shift.id, { idempotencyKey: 'first intent' });
  await mara.shifts.cancelSignUp(shift.id);
  t.same(await mara.shifts.signUp(shift.id, { idempotencyKey: 'first intent' }), first);
  t.match(await rejection(mara.shifts.mySignup(shift.id)), { code: 'signup_not_found' });
  const second = await mara.shifts.signUp(shift.id, { idempotencyKey: 'second intent' });
  t.same(await mara.shifts.mySignup(shift.id), second);
});

t.test('a deletion succeeds, even if its response was lost', async (t) => {
  const { client } = await behindProxy(t, ['cut before']);
  const task = await mara.tasks.create({ title: 'Gone' });
  t.equal(await client.tasks.delete(task), undefined);
  t.match(
    await rejection(client.tasks.delete(task)),
    { code: 'task_not_found' },
    'without a lost answer it is an error',
  );
  const kept = await mara.tasks.create({ title: 'Kept' });
  const page = (status: string) => response(status, 'content-type: text/html\r\n', '<h1>No backend</h1>');
  const restarting = await behindProxy(t, [page('502 Bad Gateway'), page('404 Not Found')]);
  t.match(
    await rejection(restarting.client.tasks.delete(kept.id)),
    { name: 'UnexpectedAnswerError', status: 404 },
    'nor is a page of a proxy the answer',
  );
});

t.test(
  'a change whose response was lost is not repeated, and the error says that it may have happened',
  async (t) => {
    const task = await mara.tasks.create({ title: 'Doubt' });
    const { client } = await behindProxy(t, ['cut before']);
    const error = await rejection(client.tasks.update(task, { title: 'Changed' }));
    t.ok(isProblem(error, 'task_version_conflict'));
    t.match(error, { isDoubtful: true, attempts: 2, problem: { currentVersion: 2 } });
    t.match(await client.tasks.get(task.id), { title: 'Changed', version: 2 });
  },
);

t.test('Retry-After is followed, in seconds and as a date; without it waits grow, with jitter', async (t) => {
  movableClock(t);
  const date = new Date(Date.now() + 20_000).toUTCString();
  const { client, waits } = await behindProxy(t, [
    response('503 Service Unavailable', 'retry-after: 7\r\n'),
    response('429 Too Many Requests', `retry-after: ${date}\r\n`),
  ]);
  await client.clubs.current();
  const leftMs = Date.parse(date) - Date.now();
  t.equal(waits.length, 2);
  t.ok((waits[0] ?? 0) >= 7_500 && (waits[0] ?? 0) <= 8_000, String(waits[0]));
  t.ok((waits[1] ?? 0) >= leftMs + 1_000 && (waits[1] ?? 0) <= 22_000, String(waits[1]));

  const dead = await clients.as('dora', 'Admin', north, {
    baseUrl: `http://127.0.0.1:${await freePort()}`,
    retry: { attempts: 8 },
    ...hurried(),
  });
  const error = await rejection(dead.clubs.current());
  t.match(error, { name: 'NoAnswerError', attempts: 8, message: /8 times.*fetch failed \(ECONNREFUSED\)/ });
  const drawn: number[][] = [[], []];
  for (let time = 0; time < 20; time += 1) {
    const { waits, wait } = hurried();
    await rejection(
      (await clients.as('d', 'Admin', north, { fetch: Promise.reject.bind(Promise), wait })).clubs.mine(),
    );
    t.equal(waits.length, 2, 'three attempts');
    drawn.forEach((of, place) => {
      of.push(waits[place] ?? 0);
    });
  }
  t.ok(drawn.every((of) => new Set(of).size > 10));
  t.ok(drawn[0]?.every((ms) => ms >= 500 && ms <= 1_000));
  t.ok(drawn[1]?.every((ms) => ms >= 1_000 && ms <= 2_000));
});

t.test('without a limit of attempts withinMs is the limit, and a wait takes 10 s at most', async (t) => {
  const clock = movableClock(t);
  const start = Date.now();
  const waits: number[] = [];
  const clientOf = async (downtimeMs: number) =>
    clients.as('dora', 'Admin', north, {
      retry: { attempts: Infinity, withinMs: 900_000 },
      fetch: async () => {
        if (Date.now() < start + downtimeMs) {
          throw new Error('restarting');
        }
        return Response.json([]);
      },
      wait: async (ms) => {
        waits.push(ms);
        clock.advance(ms);
      },
    });
  t.same(await (await clientOf(600_000)).clubs.mine(), []);
  t.ok(waits.length > 60 && waits.slice(4).every((ms) => ms >= 5_000 && ms <= 10_000), String(waits));
  const before = Date.now();
  t.match(await rejection((await clientOf(2_000_000)).clubs.mine()), { name: 'NoAnswerError' });
  t.ok(Date.now() - before > 880_000 && Date.now() - before <= 900_000, String(Date.now() - before));
});

t.test('a rate-limited call waits for Retry-After, or fails', async (t) => {
  movableClock(t);
  const limited = await startService(t, { rateLimitPerMinute: 2 });
  const club = await limited.db.makeClub('limited');
  const open = await openClients(limited);
  const { waits, wait } = hurried();
  const patient = await open.as('ben', 'Member', club, { wait });
  await patient.members.me();
  await patient.members.me();
  const error = await rejection(patient.members.me());
  t.match(error, { code: 'rate_limited', status: 429, attempts: 3 });
  t.ok(isProblem(error) && (error.retryAfterMs ?? 0) > 30_000);
  t.ok(waits.length === 2 && waits.every((ms) => ms > 30_000), String(waits));
  const hasty = await open.as('ben', 'Member', club, { retry: { withinMs: 5_000 } });
  t.match(await rejection(hasty.members.me()), { code: 'rate_limited', attempts: 1 });
});

t.test('a response that is not from the service is reported as such', async (t) => {
  const page = response('502 Bad Gateway', 'content-type: text/html\r\n', '<h1>Bad gateway</h1>');
  const { client } = await behindProxy(t, [page, page, page]);
  t.match(await rejection(client.clubs.current()), {
    name: 'UnexpectedAnswerError',
    status: 502,
    contentType: 'text/html',
    attempts: 3,
    message: /^GET \/api\/clubs\/current was answered with 502 and text\/html, which is not/,
  });
  const busy = response('503 Service Unavailable', 'retry-after: 40\r\ncontent-type: text/html\r\n');
  const overloaded = await behindProxy(t, [page, busy], { retry: { attempts: 2 } });
  t.match(await rejection(overloaded.client.tasks.create({ title: 'Busy' })), {
    name: 'UnexpectedAnswerError',
    attempts: 2,
    isDoubtful: true,
    retryAfterMs: 40_000,
  });
  const portal = await behindProxy(t, [response('200 OK', 'content-type: text/html\r\n', '<h1>Log in</h1>')]);
  t.match(await rejection(portal.client.clubs.current()), {
    name: 'UnexpectedAnswerError',
    status: 200,
    attempts: 1,
    isDoubtful: false,
    retryAfterMs: undefined,
  });
});

t.test(
  'a redirect is not followed, so no POST becomes a GET, and the error contains its target',
  async (t) => {
    const { client } = await behindProxy(t, [
      response('302 Found', `location: ${clients.baseUrl}/api/tasks?code=secret\r\n`),
    ]);
    const error = await rejection(client.tasks.create({ title: 'Moved' }));
    t.match(error, { name: 'UnexpectedAnswerError', status: 302, attempts: 1 });
    t.match(error.message, `POST /api/tasks was redirected to ${clients.baseUrl}/api/tasks. The client`);
    t.notMatch(error.message, /secret/);
    const browser = await clients.as('dora', 'Admin', north, {
      // What a browser shows of a redirect, like this response, has the status 0 and no headers.
      fetch: async () => Response.error(),
    });
    t.match(await rejection(browser.clubs.mine()), {
      name: 'UnexpectedAnswerError',
      status: 0,
      message: /^GET \/api\/clubs\/me was redirected, for example to a login page\./,
    });
  },
);

t.test('the time for attempts begins with the first one, after the wait for the token', async (t) => {
  const token = service.token({ sub: 'dora', name: 'dora', clubs: { [north]: 'Admin' } });
  const busy = response('503 Service Unavailable', '');
  const clock = movableClock(t);
  const { client } = await behindProxy(t, [busy], {
    token: () => {
      clock.advance(60_000);
      return token;
    },
    retry: { withinMs: 2_000 },
  });
  t.match(await client.clubs.current(), { id: north });
});

t.test('a call ends when its signal is aborted, and an attempt at its time-out', async (t) => {
  const { client, proxy } = await behindProxy(t, ['freeze', 'freeze'], {
    timeoutMs: 100,
    retry: { attempts: 2 },
  });
  t.match(await rejection(client.clubs.current()), {
    name: 'NoAnswerError',
    attempts: 2,
    message: /no response within 100 ms/,
  });
  const reason = new Error('the page was left');
  const during = new AbortController();
  proxy.onMessage = () => {
    during.abort(reason);
    return 'freeze';
  };
  t.equal(await rejection(client.clubs.current({ signal: during.signal })), reason);
  t.equal(await rejection(client.tasks.list({}, { signal: AbortSignal.abort(reason) }).toArray()), reason);
  // The clock stands still: no wait for the next attempt ends by itself.
  stopClock(t);
  for (const moment of ['before the wait for the next attempt', 'in the wait'] as const) {
    const later = new AbortController();
    const waiting = await clients.as('dora', 'Admin', north, {
      fetch: async () => {
        if (moment === 'in the wait') {
          setImmediate(() => later.abort(reason));
        } else {
          later.abort(reason);
        }
        return new Response('', { status: 503, headers: { 'retry-after': '20' } });
      },
    });
    t.equal(await rejection(waiting.clubs.current({ signal: later.signal })), reason, moment);
  }
});

t.test('a time-out and a wait that are longer than a timer can be do not end at once', async (t) => {
  const advance = stopClock(t);
  const endless = await clients.as('dora', 'Admin', north, {
    timeoutMs: Infinity,
    retry: { attempts: 1 },
    fetch: async (_, init) => {
      await advance(60_000);
      init?.signal?.throwIfAborted();
      return Response.json([]);
    },
  });
  t.same(await endless.clubs.mine(), []);

  let requests = 0;
  const later = await clients.as('dora', 'Admin', north, {
    retry: { withinMs: Infinity },
    fetch: async () => {
      requests += 1;
      return new Response('', { status: 503, headers: { 'retry-after': '3000000' } });
    },
  });
  const left = new AbortController();
  const reason = new Error('the page was left');
  const calling = rejection(later.clubs.mine({ signal: left.signal }));
  await until(
    () => requests,
    (count) => count === 1,
  );
  await advance(60_000);
  left.abort(reason);
  t.equal(await calling, reason);
  t.equal(requests, 1);
});

t.test('a token function that fails, at once or later, is called again for the next request', async (t) => {
  const reason = new Error('no session');
  for (const fail of [
    () => Promise.reject(reason),
    () => {
      throw reason;
    },
  ]) {
    let tokenCalls = 0;
    const token = service.token({ sub: 'dora', name: 'dora', clubs: { [north]: 'Admin' } });
    const client = await clients.as('dora', 'Admin', north, {
      token: () => {
        tokenCalls += 1;
        return tokenCalls === 1 ? fail() : token;
      },
    });
    t.equal(await rejection(client.clubs.current()), reason);
    t.match(await client.clubs.current(), { id: north });
    t.equal(tokenCalls, 2);
  }
});

t.test(
  'a call that waits for a token ends when its signal is aborted, and other calls get the token',
  async (t) => {
    const reason = new Error('the page was left');
    const soon = (error: Promise<Error>) => Promise.race([error, nextTurn('it still waits')]);
    let tokenCalls = 0;
    let give = (_token: string) => {};
    const client = await clients.as('dora', 'Admin', north, {
      token: () => {
        tokenCalls += 1;
        return new Promise<string>((resolve) => {
          give = resolve;
        });
      },
    });
    t.equal(await soon(rejection(client.clubs.current({ signal: AbortSignal.abort(reason) }))), reason);
    t.equal(tokenCalls, 0, 'no token is requested for a call that was aborted before');

    const during = new AbortController();
    const aborted = rejection(client.clubs.current({ signal: during.signal }));
    const other = client.clubs.current({ signal: new AbortController().signal });
    during.abort(reason);
    t.equal(await soon(aborted), reason);
    give(service.token({ sub: 'dora', name: 'dora', clubs: { [north]: 'Admin' } }));
    t.match(await other, { id: north });
    t.match(await client.clubs.current(), { id: north });
    t.equal(tokenCalls, 1);
  },
);
