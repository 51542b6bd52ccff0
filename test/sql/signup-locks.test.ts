import pg from 'pg';
import t from 'tap';
import { makeDatabase } from '../setup/database.js';
import { type Caller, connectAsRuntime, enter, type Outcome, type RuntimeSession } from '../setup/runtime.js';
import { countsOf, insertShift } from '../setup/shifts.js';
import { untilWaitingForLocks } from '../setup/wait.js';

const db = await makeDatabase(t);
const clubId = await db.makeClub('north');
const manager: Caller = { clubId, subject: 'mara', role: 'Manager' };
const admin: Caller = { clubId, subject: 'ada', role: 'Admin' };

/** A session that locks a shift while others wait for it. */
const holder = await connectAsRuntime(t, db);
await holder.join(manager);
await holder.join(admin);

interface Someone {
  caller: Caller;
  session: RuntimeSession;
  memberId: string;
}
const crowd: Someone[] = [];
for (let index = 0; index < 20; index += 1) {
  const caller: Caller = { clubId, subject: `caller-${index}`, role: 'Member' };
  const session = await connectAsRuntime(t, db);
  crowd.push({ caller, session, memberId: await session.join(caller) });
}
const [first, second, third, fourth] = crowd as [Someone, Someone, Someone, Someone];

const signUp = ({ caller, session }: Someone, id: string) =>
  session.run(caller, 'select app.sign_up($1)', [id]);
const cancel = ({ caller, session }: Someone, id: string) =>
  session.run(caller, 'select app.cancel_sign_up($1)', [id]);
/** A Manager signs a member up or off. */
const assign = ({ session, memberId }: Someone, id: string) =>
  session.run(manager, 'select * from app.assign_sign_up($1, $2)', [id, memberId]);
const remove = ({ session, memberId }: Someone, id: string) =>
  session.run(manager, 'select app.remove_sign_up($1, $2)', [id, memberId]);

const wait = ({ caller, session }: Someone, id: string) =>
  session.run(caller, 'select app.wait_for_place($1)', [id]);
const stop = ({ caller, session }: Someone, id: string) =>
  session.run(caller, 'select app.stop_waiting($1)', [id]);
const assignWait = ({ session, memberId }: Someone, id: string) =>
  session.run(manager, 'select * from app.assign_wait($1, $2)', [id, memberId]);
const removeWait = ({ session, memberId }: Someone, id: string) =>
  session.run(manager, 'select app.remove_wait($1, $2)', [id, memberId]);

/** Each way out of a shift for the first, and each way into it for others, in sessions of their own. */
const everyWay = [
  (id: string) => cancel(first, id),
  (id: string) => remove({ ...first, session: third.session }, id),
  (id: string) => signUp(second, id),
  (id: string) => assign(fourth, id),
];

const makeShift = (capacity: number) => insertShift(holder, manager, capacity);

/**
 * Starts the callers' statements, one after another, on a locked shift; once all of them wait, the holder
 * runs a statement on it and commits.
 *
 * @returns the result of each caller
 */
async function whileHeld(
  id: string,
  callers: ((id: string) => Promise<Outcome>)[],
  { meanwhile = 'select $1::uuid', as = manager } = {},
): Promise<Outcome[]> {
  await holder.begin(as);
  await holder.client.query('select from app.shifts where id = $1 for update', [id]);
  const outcomes: Promise<Outcome>[] = [];
  for (const come of callers) {
    outcomes.push(come(id));
    await untilWaitingForLocks(db, outcomes.length, ...outcomes);
  }
  await holder.client.query(meanwhile, [id]);
  await holder.client.query('commit');
  return Promise.all(outcomes);
}

t.test(
  'of 20 sessions that wait for one shift, exactly as many as it has places are signed up',
  async (t) => {
    for (const capacity of [1, 7, 20]) {
      const id = await makeShift(capacity);
      const outcomes = await whileHeld(
        id,
        crowd.map((one, index) => (id) => (index % 2 === 0 ? signUp : assign)(one, id)),
      );
      const codes = outcomes.map(({ code }) => code).sort();
      t.same(codes, [...Array(20 - capacity).fill('SH004'), ...Array(capacity).fill('ok')]);
      t.same(await countsOf(db, id), [capacity, capacity]);
    }
  },
);

t.test('a member for whom 20 sessions wait for one shift is signed up once', async (t) => {
  for (const [one, other] of [
    [signUp, assign],
    [assign, signUp],
  ] as const) {
    const id = await makeShift(20);
    const outcomes = await whileHeld(
      id,
      crowd.map(
        ({ session }, index) =>
          (id) =>
            (index % 2 === 0 ? one : other)({ ...first, session }, id),
      ),
    );
    const results = outcomes.map(({ code, rows: [row] }) => (row?.is_new === false ? 'exists' : code));
    t.equal(results.filter((result) => result === 'ok').length, 1);
    t.same(new Set(results), new Set(['ok', 'SH003', 'exists']));
    t.same(await countsOf(db, id), [1, 1]);
  }
});

// Their transactions began before the start, so now() would let them through.
t.test('a caller who waited for the lock until the shift had started is refused', async (t) => {
  const id = await makeShift(5);
  await signUp(first, id);
  const outcomes = await whileHeld(id, everyWay, {
    meanwhile: 'update app.shifts set starts_at = clock_timestamp() where id = $1',
  });
  t.same(
    outcomes.map(({ code }) => code),
    Array(4).fill('SH002'),
  );
  t.same(await countsOf(db, id), [1, 1]);
});

t.test('a member who waited for the lock until sign-up had closed, or cancelling, is refused', async (t) => {
  for (const [limit, ways, code, roster] of [
    ['signup_closes_at', [(id: string) => signUp(second, id)], 'SH008', (id: string) => assign(fourth, id)],
    ['cancel_until', [(id: string) => cancel(first, id)], 'SH009', (id: string) => remove(first, id)],
  ] as const) {
    const id = await makeShift(5);
    await signUp(first, id);
    const outcomes = await whileHeld(id, [...ways], {
      meanwhile: `update app.shifts set ${limit} = clock_timestamp() where id = $1`,
    });
    t.same(
      outcomes.map((outcome) => outcome.code),
      [code],
    );
    t.match(await roster(id), { code: 'ok' }, 'the roster is not bound by it');
  }
});

t.test(
  'a caller who waited for the lock sees the changed shift: a lower capacity, or a free place',
  async (t) => {
    const id = await makeShift(2);
    await signUp(first, id);
    const refused = await whileHeld(id, everyWay.slice(2), {
      meanwhile: 'update app.shifts set capacity = 1 where id = $1',
    });
    t.match(refused, [{ code: 'SH004' }, { code: 'SH004' }]);
    const outcomes = await whileHeld(id, [(id) => cancel(first, id), (id) => signUp(second, id)]);
    t.match(outcomes, [{ code: 'ok' }, { code: 'ok' }]);
    const others = await whileHeld(id, [
      (id) => remove({ ...second, session: third.session }, id),
      (id) => assign(first, id),
    ]);
    t.match(others, [{ code: 'ok' }, { code: 'ok' }]);
    t.same(await countsOf(db, id), [1, 1]);
  },
);

// A cancellation that locked the signup before the shift could deadlock with the deletion.
t.test('deleting a shift for which callers wait causes no deadlock', async (t) => {
  const id = await makeShift(2);
  await signUp(first, id);
  const outcomes = await whileHeld(id, everyWay, {
    meanwhile: 'delete from app.shifts where id = $1',
    as: admin,
  });
  t.same(
    outcomes.map(({ code }) => code),
    Array(4).fill('SH001'),
  );
  t.same(await db.queryAsAdmin('select from app.shift_signups where shift_id = $1', [id]), []);
});

t.test('SQL of an operator beside a request lets nobody wait who is signed up', async (t) => {
  const operator = new pg.Client(db.adminUrl);
  await operator.connect();
  t.teardown(() => operator.end());
  const id = await makeShift(2);
  t.equal((await signUp(first, id)).code, 'ok');
  t.equal((await signUp(second, id)).code, 'ok');

  await operator.query('begin');
  await operator.query(`select ${enter(manager)}`);
  const change = 'update app.shift_signups set member_id = $3 where shift_id = $1 and member_id = $2';
  await operator.query(change, [id, second.memberId, third.memberId]);
  const waiting = wait(third, id);
  await untilWaitingForLocks(db, 1, waiting);
  await operator.query('commit');
  t.equal((await waiting).code, 'SH003');

  t.equal((await cancel(first, id)).code, 'ok');
  await holder.begin(manager);
  await holder.client.query('select * from app.assign_sign_up($1, $2)', [id, fourth.memberId]);
  const insert = 'insert into app.shift_waits (tenant_id, shift_id, member_id) values ($1, $2, $3)';
  await operator.query('begin');
  await operator.query(`select ${enter(manager)}`);
  const inserting = operator.query(insert, [clubId, id, fourth.memberId]);
  await untilWaitingForLocks(db, 1, inserting);
  await holder.client.query('commit');
  await t.rejects(inserting, { code: 'SH003' });
  await operator.query('rollback');
  t.same(await countsOf(db, id), [2, 2]);
});

t.test('every way into and out of a shift, in many concurrent sessions, causes no deadlock', async (t) => {
  const shifts = [await makeShift(1), await makeShift(2)] as [string, string];
  const rounds = Array.from({ length: 40 }, (_, round) => round);
  const ways = [cancel, signUp, wait, signUp, remove, assignWait, assign, stop, removeWait] as const;
  const run = async ({ session }: Someone, index: number) => {
    const someone = [first, second, third][index % 3] as Someone;
    const codes = new Set<string>();
    for (const round of rounds) {
      const act = ways[(index + round) % ways.length] as typeof cancel;
      codes.add((await act({ ...someone, session }, shifts[round % 2] as string)).code);
    }
    return codes;
  };
  const change = async () => {
    for (const round of rounds) {
      const sql = 'update app.shifts set title = $2 where id = $1';
      const { code } = await holder.run(manager, sql, [shifts[round % 2], `Bar ${round}`]);
      t.equal(code, 'ok');
    }
  };
  const [, ...codes] = await Promise.all([change(), ...crowd.slice(0, 8).map(run)]);
  const expected = ['SH003', 'SH004', 'SH005', 'WA001', 'WA002', 'WA004', 'ok'];
  const others = codes.flatMap((own) => [...own]).filter((code) => !expected.includes(code));
  t.same(others, []);
  for (const id of shifts) {
    const [counter, rows] = await countsOf(db, id);
    t.equal(counter, rows);
  }
});
