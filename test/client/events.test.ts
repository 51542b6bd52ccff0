import t from 'tap';
import {
  type ClientOptions,
  type ClubEvent,
  EventsForgottenError,
  isProblem,
} from '../../client/src/index.js';
import { openClients, rejection } from '../setup/client.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const { db } = service;
const clients = await openClients(service);

/** A new club with a Manager; their first request is its first event. */
async function makeClub() {
  const clubId = await db.makeClub();
  const anna = await clients.as('anna', 'Manager', clubId);
  await anna.members.me();
  return {
    clubId,
    anna,
    follower: (options: Partial<ClientOptions>) => clients.as('anna', 'Manager', clubId, options),
  };
}

t.test('a follower gets each event once and in order, and asks again after a time with jitter', async (t) => {
  const { anna, follower } = await makeClub();
  for (const [everyMs, mean] of [
    [undefined, 5_000],
    [100, 100],
  ] as const) {
    const waits: number[] = [];
    const wait = async (ms: number) => {
      waits.push(ms);
      await anna.tasks.create({ title: 'Mow' });
    };
    const before = await anna.events.list().toArray();
    const seen: ClubEvent[] = [];
    for await (const event of (await follower({ wait })).events.follow({ everyMs })) {
      seen.push(event);
      if (seen.length === before.length + 8) {
        break;
      }
    }
    t.same(seen, await anna.events.list().toArray());
    t.equal(waits.length, 8);
    t.ok(
      waits.every((ms) => ms >= 0.75 * mean && ms <= 1.25 * mean),
      waits.join(),
    );
    t.ok(new Set(waits).size > 1, 'jitter');
  }
});

t.test('a follower goes on after an event, and does not wait while more events are there', async (t) => {
  const { clubId, anna, follower } = await makeClub();
  await db.queryAsAdmin(
    `insert into app.tasks (tenant_id, id, title, created_by_id)
     select $1, app.new_id(), 'Mow', null from generate_series(1, 1001)`,
    [clubId],
  );
  const {
    items: [first],
  } = await anna.events.list({ limit: 1 }).page();
  const stop = new AbortController();
  const waits: number[] = [];
  const client = await follower({
    wait: async (ms) => {
      waits.push(ms);
      stop.abort();
    },
  });
  const numbers: number[] = [];
  for await (const { sequence } of client.events.follow({ after: first?.id, signal: stop.signal })) {
    numbers.push(sequence);
  }
  t.same(
    numbers,
    Array.from({ length: 1_001 }, (_, index) => index + 2),
  );
  t.equal(waits.length, 1);
});

t.test('an aborted follower ends, while it waits and between two events', async (t) => {
  const { anna } = await makeClub();
  await anna.tasks.create({ title: 'Mow' });
  const stop = new AbortController();
  const seen: ClubEvent[] = [];
  for await (const event of anna.events.follow({ signal: stop.signal })) {
    seen.push(event);
    stop.abort();
  }
  t.equal(seen.length, 1);
  const later = new AbortController();
  for await (const event of anna.events.follow({ after: seen[0]?.id, signal: later.signal })) {
    seen.push(event);
    // It waits for the next one by then.
    setImmediate(() => later.abort());
  }
  t.equal(seen.length, 2);
  t.same(await anna.events.follow({ signal: AbortSignal.abort() }).next(), { done: true, value: undefined });
});

t.test('a forgotten event to go on after is an error of its own, with the oldest number', async (t) => {
  const { clubId, anna } = await makeClub();
  const [first] = await anna.events.list().toArray();
  await anna.tasks.create({ title: 'Mow' });
  await db.queryAsAdmin(`select app.forget_events($1, now() + interval '1 hour')`, [clubId]);
  for (const read of [
    () => anna.events.follow({ after: first?.id }).next(),
    () => anna.events.list({ after: first?.id }).toArray(),
  ]) {
    const error = await rejection(read());
    t.ok(error instanceof EventsForgottenError);
    t.match(error, { name: 'EventsForgottenError', status: 410, oldestSequence: 2 });
    t.ok(isProblem(error, 'events_forgotten'));
  }
  const other = await rejection(anna.tasks.get(clubId));
  t.notOk(other instanceof EventsForgottenError);
  t.match(other, { name: 'ProblemError' });
});

t.test('a follower waits as long as Retry-After says', async (t) => {
  const { follower } = await makeClub();
  const refusals = ['429', '503'];
  const waits: number[] = [];
  const client = await follower({
    wait: async (ms) => {
      waits.push(ms);
    },
    fetch: async (input, init) => {
      const status = refusals.shift();
      return status === undefined
        ? fetch(input, init)
        : new Response('', { status: Number(status), headers: { 'retry-after': '7' } });
    },
  });
  const { value } = await client.events.follow().next();
  t.match(value, { sequence: 1, type: 'member.created' });
  t.equal(waits.length, 2);
  t.ok(
    waits.every((ms) => ms >= 7_000),
    waits.join(),
  );
});
