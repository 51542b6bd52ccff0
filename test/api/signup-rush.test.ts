import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { sendUnderLoad } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { countsOf, shiftRequest, tally } from '../setup/shifts.js';
import { untilWaitingForLocks } from '../setup/wait.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const manager = service.as('mara', 'Manager', north);
// Real sockets, all open at the same time.
const origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
const crowd = await Promise.all(Array.from({ length: 100 }, (_, index) => connect(`caller-${index}`)));

async function connect(sub: string) {
  const token = service.token({ sub, name: sub, clubs: { [north]: 'Member' } });
  const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': north };
  const call = (method: string) => (path: string) =>
    sendUnderLoad(async () => {
      const response = await fetch(`${origin}${path}`, { method, headers });
      const text = await response.text();
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    });
  return { get: call('GET'), post: call('POST'), delete: call('DELETE') };
}

async function makeShift(capacity: number) {
  const { id } = (await manager.post('/api/shifts', shiftRequest({ capacity }))).body;
  const path = `/api/shifts/${id}`;
  return { id: id as string, path, signup: `${path}/signup` };
}

/** The count and the list in the response, the counter, and the stored rows. */
async function allCountsOf(id: string): Promise<number[]> {
  const { signupCount, signups } = (await manager.get(`/api/shifts/${id}`)).body;
  return [signupCount, signups.length, ...(await countsOf(service.db, id))];
}

/** Sends the requests of the crowd; the first ones wait in the database until they can sign up at the same moment. */
async function signUpAll({ id, signup }: { id: string; signup: string }) {
  return withClient(service.db.adminUrl, async (holder) => {
    await holder.query('begin');
    await holder.query('select from app.shifts where id = $1 for update', [id]);
    const responses = crowd.map((caller) => caller.post(signup));
    await untilWaitingForLocks(service.db, 2);
    await holder.query('commit');
    return Promise.all(responses);
  });
}

t.test('of 100 concurrent callers exactly as many get a place as the shift has', async (t) => {
  // In the first round the callers are new to the club: their members are created at the same time.
  for (const capacity of [20, 1, 100]) {
    const shift = await makeShift(capacity);
    const counts = tally(await signUpAll(shift));
    t.equal(counts['201'], capacity, `${capacity} places`);
    t.equal(counts['409 shift_full'] ?? 0, 100 - capacity, `${capacity} places`);
    t.same(await allCountsOf(shift.id), Array(4).fill(capacity));
  }
});

t.test('of 20 concurrent signups of one caller exactly one succeeds', async (t) => {
  for (const [caller, capacity] of [
    [await connect('new-here'), 20],
    [await connect('caller-0'), 1],
  ] as const) {
    const { id, signup } = await makeShift(capacity);
    const answers = await Promise.all(Array.from({ length: 20 }, () => caller.post(signup)));
    t.same(tally(answers), { 201: 1, '409 already_signed_up': 19 });
    t.same(await allCountsOf(id), [1, 1, 1, 1]);
  }
});

t.test('of 20 concurrent cancellations of one caller exactly one succeeds', async (t) => {
  const { id, signup } = await makeShift(5);
  const caller = await connect('caller-0');
  await caller.post(signup);
  const answers = await Promise.all(Array.from({ length: 20 }, () => caller.delete(signup)));
  t.same(tally(answers), { 204: 1, '404 signup_not_found': 19 });
  t.same(await allCountsOf(id), [0, 0, 0, 0]);
});

t.test(
  'concurrent signups and cancellations never overbook, and the counter equals the number of rows',
  async (t) => {
    const { id, path, signup } = await makeShift(5);
    const sums = await Promise.all(
      crowd.slice(0, 30).map(async (caller, index) => {
        let sum = 0;
        for (let round = 0; round < 5; round += 1) {
          const answer = (index + round) % 3 === 0 ? await caller.delete(signup) : await caller.post(signup);
          t.ok([201, 204, 404, 409].includes(answer.status), `${answer.status}`);
          sum += answer.status === 201 ? 1 : answer.status === 204 ? -1 : 0;
          const { body } = await caller.get(path);
          t.ok(body.signupCount <= 5 && body.freeSlots === 5 - body.signupCount);
        }
        return sum;
      }),
    );
    const left = sums.reduce((all, sum) => all + sum, 0);
    t.same(await allCountsOf(id), Array(4).fill(left));
  },
);

t.test('a capacity that is lowered during signups is never below the number of signups', async (t) => {
  const { id, path, signup } = await makeShift(40);
  const [answers, changes] = await Promise.all([
    Promise.all(crowd.map((caller) => caller.post(signup))),
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

t.test('a shift that is deleted during signups leaves no signup, and later requests are a 404', async (t) => {
  const { id, path, signup } = await makeShift(100);
  const admin = service.as('ada', 'Admin', north);
  const early = crowd.slice(0, 20).map((caller) => caller.post(signup));
  const deleted = sendUnderLoad(() => admin.delete(path));
  const late = crowd.slice(20, 60).map((caller) => caller.post(signup));
  const cancelled = crowd.slice(0, 20).map((caller) => caller.delete(signup));
  t.equal((await deleted).status, 204);
  const counts = tally(await Promise.all([...early, ...late, ...cancelled]));
  for (const outcome of Object.keys(counts)) {
    t.ok(['201', '204', '404 shift_not_found', '404 signup_not_found'].includes(outcome), outcome);
  }
  t.match(await manager.post(signup), { status: 404, body: { code: 'shift_not_found' } });
  t.same(await service.db.queryAsAdmin('select from app.shift_signups where shift_id = $1', [id]), []);
});

t.test('a read is one snapshot: the count and the list of signups agree while others sign up', async (t) => {
  const { path, signup } = await makeShift(100);
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
    await Promise.all(crowd.slice(2, 12).map((caller) => caller.post(signup)));
    await Promise.all(crowd.slice(2, 12).map((caller) => caller.delete(signup)));
  }
  over = true;
  t.same(await Promise.all(reads), [0, 0], 'answers whose count and list disagree');
});
