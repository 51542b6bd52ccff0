import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import type { Role } from '../../src/roles.js';
import { walk } from '../setup/paging.js';
import { sendUnderLoad } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { countsOf, shiftRequest, tally } from '../setup/shifts.js';
import { untilWaitingForLocks } from '../setup/wait.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const manager = service.as('mara', 'Manager', north);
// Real sockets, all open at the same time.
const origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
/** Half of them are Members who sign up, the others Managers who each sign up another member. */
const crowd = await Promise.all(
  Array.from({ length: 100 }, async (_, index) =>
    index % 2 === 0
      ? memberOf(`caller-${index}`)
      : managerOf(`caller-${index}`, await service.as(`other-${index}`, 'Member', north).memberId()),
  ),
);

/** A Member who enters a shift and leaves it. */
function memberOf(sub: string) {
  const caller = connect(sub, 'Member');
  return {
    get: caller.get,
    enter: (shift: string) => caller.post(`${shift}/signup`),
    leave: (shift: string) => caller.delete(`${shift}/signup`),
  };
}

/** A Manager who enters a member and removes them. */
function managerOf(sub: string, memberId: string): ReturnType<typeof memberOf> {
  const caller = connect(sub, 'Manager');
  return {
    get: caller.get,
    enter: (shift) => caller.put(`${shift}/signups/${memberId}`),
    leave: (shift) => caller.delete(`${shift}/signups/${memberId}`),
  };
}

function connect(sub: string, role: Role) {
  const token = service.token({ sub, name: sub, clubs: { [north]: role } });
  const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': north };
  const call = (method: string) => (path: string) =>
    sendUnderLoad(async () => {
      const response = await fetch(`${origin}${path}`, { method, headers });
      const text = await response.text();
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    });
  return { get: call('GET'), post: call('POST'), put: call('PUT'), delete: call('DELETE') };
}

async function makeShift(capacity: number) {
  const { id } = (await manager.post('/api/shifts', shiftRequest({ capacity }))).body;
  return { id: id as string, path: `/api/shifts/${id}` };
}

/** The count and the list in the response, the counter, and the stored rows. */
async function allCountsOf(id: string): Promise<number[]> {
  const { signupCount, signups } = (await manager.get(`/api/shifts/${id}`)).body;
  return [signupCount, signups.length, ...(await countsOf(service.db, id))];
}

/** Sends the requests of the crowd; the first ones wait in the database until they can sign up at the same moment. */
async function enterAll({ id, path }: { id: string; path: string }) {
  return withClient(service.db.adminUrl, async (holder) => {
    await holder.query('begin');
    await holder.query('select from app.shifts where id = $1 for update', [id]);
    const responses = crowd.map((caller) => caller.enter(path));
    await untilWaitingForLocks(service.db, 2, ...responses);
    await holder.query('commit');
    return Promise.all(responses);
  });
}

t.test('of 100 concurrent Members and Managers exactly as many get a place as the shift has', async (t) => {
  // In the first round the callers are new to the club: their members are created at the same time.
  for (const capacity of [20, 1, 100]) {
    const shift = await makeShift(capacity);
    const counts = tally(await enterAll(shift));
    t.equal(counts['201'], capacity, `${capacity} places`);
    t.equal(counts['409 shift_full'] ?? 0, 100 - capacity, `${capacity} places`);
    t.same(await allCountsOf(shift.id), Array(4).fill(capacity));
  }
});

t.test('of 20 concurrent signups of a new member exactly one succeeds', async (t) => {
  const { id, path } = await makeShift(20);
  const caller = memberOf('new-here');
  const answers = await Promise.all(Array.from({ length: 20 }, () => caller.enter(path)));
  t.same(tally(answers), { 201: 1, '409 already_signed_up': 19 });
  t.same(await allCountsOf(id), [1, 1, 1, 1]);
});

t.test('a capacity that is lowered during signups is never below the number of signups', async (t) => {
  const { id, path } = await makeShift(40);
  const [answers, changes] = await Promise.all([
    Promise.all(crowd.map((caller) => caller.enter(path))),
    Promise.all(
      [30, 20, 10].map((capacity) =>
        sendUnderLoad(() => manager.put(path, shiftRequest({ title: `Of ${capacity}`, capacity }))),
      ),
    ),
  ]);
  const { capacity, signupCount } = (await manager.get(path)).body;
  const counts = tally(answers);
  t.same(counts, { 201: signupCount, '409 shift_full': 100 - signupCount });
  t.ok(signupCount <= capacity, `${signupCount} of ${capacity}`);
  for (const { status, body } of changes) {
    t.ok(status === 200 || body.code === 'capacity_below_signups', `${status}`);
  }
  t.same(await allCountsOf(id), Array(4).fill(signupCount));
});

t.test('a read is one snapshot: the count and the list of signups agree while others sign up', async (t) => {
  const { path } = await makeShift(100);
  let over = false;
  const reads = crowd.slice(0, 2).map(async (reader) => {
    for (let torn = 0; ; ) {
      const { signupCount, signups } = (await reader.get(path)).body;
      torn += signupCount === signups.length ? 0 : 1;
      if (over) {
        return torn;
      }
    }
  });
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(crowd.slice(2, 12).map((caller) => caller.enter(path)));
    await Promise.all(crowd.slice(2, 12).map((caller) => caller.leave(path)));
  }
  over = true;
  t.same(await Promise.all(reads), [0, 0], 'answers whose count and list disagree');
});

/** What a client sees of an event of a shift. */
interface ShiftEvent {
  type: string;
  memberId: string;
  changes: Record<string, unknown>;
}

/**
 * Follows the events of a shift: who is signed up and who waits, in order.
 *
 * @returns what is wrong: nobody may be signed up twice, or wait and be signed up, or be promoted before whoever is next
 */
function follow(events: ShiftEvent[]): {
  signedUp: string[];
  queue: string[];
  promoted: number;
  wrong: string[];
} {
  const signedUp = new Set<string>();
  const queue: string[] = [];
  const wrong: string[] = [];
  let promoted = 0;
  for (const [index, { type, memberId, changes }] of events.entries()) {
    if (type === 'wait.created') {
      wrong.push(...(queue.includes(memberId) || signedUp.has(memberId) ? [`${index} waits again`] : []));
      queue.push(memberId);
    } else if (type === 'wait.deleted') {
      const position = queue.indexOf(memberId);
      const next = events[index + 1];
      const isPromoted = next?.type === 'signup.created' && next.memberId === memberId;
      promoted += isPromoted ? 1 : 0;
      wrong.push(...(position === -1 ? [`${index} did not wait`] : []));
      wrong.push(...(isPromoted && position !== 0 ? [`${index} overtakes ${position}`] : []));
      wrong.push(
        ...(isPromoted === 'promotedAt' in (next?.changes ?? {}) ? [] : [`${index} has no promotedAt`]),
      );
      queue.splice(position, 1);
    } else if (type === 'signup.created') {
      const isPromotion = 'promotedAt' in changes;
      const isNext = events[index - 1]?.type === 'wait.deleted' && events[index - 1]?.memberId === memberId;
      wrong.push(...(isPromotion && !isNext ? [`${index} is promoted without a wait`] : []));
      wrong.push(...(!isPromotion && queue.length > 0 ? [`${index} passes the queue`] : []));
      wrong.push(
        ...(signedUp.has(memberId) || queue.includes(memberId) ? [`${index} is signed up twice`] : []),
      );
      signedUp.add(memberId);
    } else if (type === 'signup.deleted') {
      wrong.push(...(signedUp.delete(memberId) ? [] : [`${index} was not signed up`]));
    }
  }
  return { signedUp: [...signedUp], queue, promoted, wrong };
}

t.test(
  'people who sign up, wait, cancel and are removed at once get places in the order of the queue',
  async (t) => {
    const { id, path } = await makeShift(5);
    const people = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const sub = `waiter-${index}`;
        return {
          caller: connect(sub, 'Member'),
          memberId: await service.as(sub, 'Member', north).memberId(),
        };
      }),
    );
    const boss = connect('mara', 'Manager');
    let isOver = false;
    const torn = (async () => {
      let found = 0;
      while (!isOver) {
        found += (
          await service.db.queryAsAdmin(
            `select from app.shifts as shift
           where wait_count > 0 and signup_count < capacity
             or exists (select from app.shift_waits as wait join app.shift_signups as signup using (tenant_id, shift_id, member_id)
                        where wait.shift_id = shift.id)`,
          )
        ).length;
      }
      return found;
    })();
    const allowed =
      /^(20[014]|4(04|09|22) (shift_full|shift_not_full|already_\w+|signup_not_found|wait_not_found|capacity_below_signups))$/;
    const unexpected = new Set<string>();
    const note = ({ status, body }: { status: number; body: { code?: string } | undefined }) => {
      const answer = status < 400 ? String(status) : `${status} ${body?.code}`;
      if (!allowed.test(answer)) {
        unexpected.add(answer);
      }
      return status;
    };
    const act = async ({ caller, memberId }: (typeof people)[number], index: number) => {
      for (let round = 0; round < 4; round += 1) {
        if (note(await caller.post(`${path}/signup`)) !== 201) {
          note(await caller.post(`${path}/wait`));
        }
        const way = (index + round) % 4;
        note(
          (await [
            () => caller.delete(`${path}/signup`),
            () => boss.delete(`${path}/signups/${memberId}`),
            () => caller.delete(`${path}/wait`),
            () => boss.put(`${path}/waits/${memberId}`),
          ][way]?.()) as never,
        );
      }
    };
    const changeCapacity = async () => {
      for (const capacity of [6, 20, 7, 12, 5, 8, 30, 10]) {
        note(await sendUnderLoad(() => manager.put(path, shiftRequest({ capacity }))));
      }
    };
    // Five have places and five wait, and four of these are promoted before the rush.
    for (const [index, { caller }] of people.slice(0, 10).entries()) {
      t.equal((await caller.post(`${path}/${index < 5 ? 'signup' : 'wait'}`)).status, 201);
    }
    t.match((await manager.put(path, shiftRequest({ capacity: 9 }))).body, { signupCount: 9, waitCount: 1 });
    await Promise.all([changeCapacity(), ...people.map(act)]);
    isOver = true;
    t.equal(await torn, 0, 'no commit has a wait beside a free place, or of somebody signed up');
    t.same([...unexpected], []);

    const events = await walk(manager, `/api/events?subjectId=${id}&limit=500`);
    const { signedUp, queue, promoted, wrong } = follow(events as unknown as ShiftEvent[]);
    t.same(wrong, []);
    t.ok(promoted >= 4, `${promoted} were promoted`);
    const shift = (await manager.get(path)).body;
    t.same(shift.signups.map(({ memberId }: { memberId: string }) => memberId).sort(), signedUp.sort());
    t.same(
      (await manager.get(`${path}/waits`)).body.map(({ memberId }: { memberId: string }) => memberId),
      queue,
    );
    t.same([shift.signupCount, shift.waitCount], [signedUp.length, queue.length]);
    t.same(await allCountsOf(id), Array(4).fill(signedUp.length));
  },
);
