import t from 'tap';
import { makeDatabase } from '../setup/database.js';
import { type Caller, connectAsRuntime } from '../setup/runtime.js';
import { insertShift } from '../setup/shifts.js';
import { untilWaitingForLocks } from '../setup/wait.js';

const db = await makeDatabase(t);
const clubId = await db.makeClub('north');
const sql = await connectAsRuntime(t, db);

const viewer: Caller = { clubId, subject: 'vera', role: 'Viewer' };
const anna: Caller = { clubId, subject: 'anna', role: 'Member' };
const manager: Caller = { clubId, subject: 'mara', role: 'Manager' };
const admin: Caller = { clubId, subject: 'ada', role: 'Admin' };
const ranked = [viewer, anna, manager, admin];
const stranger: Caller = { clubId: await db.makeClub('south'), subject: 'anna', role: 'Admin' };
const idOf = new Map<Caller, string>();
for (const caller of [...ranked, stranger]) {
  idOf.set(caller, await sql.join(caller));
}

const insert = `insert into app.attendance (shift_id, member_id, shift_title, starts_at, ends_at, was_signed_up, status)
  values (app.new_id(), $1, 'Bar', now() - interval '2 hours', now(), false, 'NoShow') returning *`;
const record = async (member: Caller) => (await sql.run(manager, insert, [idOf.get(member)])).rows[0];
const stored = async (id: string) =>
  (await db.queryAsAdmin('select * from app.attendance where id = $1', [id]))[0];

t.test('Managers read and write every record, a Member reads their own, a Viewer none', async (t) => {
  for (const [readsOwn, writes, statement] of [
    [true, false, 'select from app.attendance where id = $1'],
    [false, true, 'select from app.attendance where id = $1 for update'],
    [
      false,
      true,
      `update app.attendance set status = 'Excused', recorded_by_id = app.member_id() where id = $1`,
    ],
    [false, true, 'delete from app.attendance where id = $1'],
  ] as const) {
    for (const caller of [...ranked, stranger]) {
      for (const member of [anna, viewer, manager]) {
        const { id } = await record(member);
        const isManager = caller === manager || caller === admin;
        const may = isManager || (readsOwn && !writes && caller === anna && member === anna);
        // A row without access is invisible: no error, no row.
        const expected = { code: 'ok', rowCount: may ? 1 : 0 };
        const title = `${caller.role}, a record of ${member.subject}: ${statement}`;
        t.match(await sql.run(caller, statement, [id]), expected, title);
      }
    }
  }
  // Without a condition no row is read, so that these need the policies of their own command only.
  for (const statement of ['update app.attendance set was_signed_up = true', 'delete from app.attendance']) {
    for (const caller of [viewer, anna, stranger]) {
      t.match(await sql.run(caller, statement), { code: 'ok', rowCount: 0 }, `${caller.role}: ${statement}`);
    }
  }
  for (const caller of ranked) {
    const { code } = await sql.run(caller, insert, [idOf.get(anna)]);
    t.equal(
      code,
      ranked.indexOf(caller) >= ranked.indexOf(manager) ? 'ok' : '42501',
      `${caller.role}: insert`,
    );
  }
  t.equal((await sql.run(stranger, insert, [idOf.get(anna)])).code, '23503', 'a member of another club');
});

/** Records a member with `Excused`, unless there are other arguments. */
const call = `select (recorded.attendance).*, recorded.is_new
  from app.record_attendance($1, $2, coalesce($3, 'Excused'), $4, null, $5, $6) as recorded`;

async function makeStartedShift(): Promise<string> {
  const id = await insertShift(sql, manager, 1);
  await sql.run(manager, 'update app.shifts set starts_at = now() - $2::interval where id = $1', [id, '1 h']);
  return id;
}

t.test(
  'app.record_attendance has the rights of its caller, who finds no shift without them: SH001',
  async (t) => {
    const id = await makeStartedShift();
    const of = (member: Caller) => [id, idOf.get(member), null, null, null, null];
    for (const isRecorded of [false, true]) {
      for (const caller of [viewer, anna, stranger]) {
        t.equal(
          (await sql.run(caller, call, of(anna))).code,
          'SH001',
          `${caller.role}, recorded: ${isRecorded}`,
        );
      }
      const { rows } = await sql.run(manager, call, of(anna));
      const expected = { is_new: !isRecorded, recorded_by_id: idOf.get(manager), version: 1 };
      t.match(rows, [{ tenant_id: clubId, member_id: idOf.get(anna), status: 'Excused', ...expected }]);
    }
    t.equal((await sql.run(manager, call, of(stranger))).code, 'ME001', 'a member of another club');
    t.equal((await sql.run(manager, call, [id, idOf.get(viewer), 'Late', null, null, null])).code, '23514');
    await t.rejects(sql.client.query(call, of(anna)), { code: 'TN001' });
  },
);

t.test('app.record_attendance compares the tags of both conditions: VE001, VE002', async (t) => {
  const id = await makeStartedShift();
  const record = async (ifMatch: unknown, ifNoneMatch: unknown) =>
    (await sql.run(manager, call, [id, idOf.get(anna), null, null, ifMatch, ifNoneMatch])).code;
  for (const tags of [[], [null], ['*'], ['"1"']]) {
    t.equal(await record(tags, null), 'VE001', `${JSON.stringify(tags)}, where nothing is recorded`);
  }
  t.equal(await record(null, ['*']), 'ok');
  for (const [tags, isCurrent] of [
    [[], false],
    [[null], false],
    [['"2"'], false],
    [['1'], false],
    [['*'], true],
    [['"2"', '"1"'], true],
    [[null, '"1"'], true],
  ] as const) {
    t.equal(await record(tags, null), isCurrent ? 'ok' : 'VE001', `If-Match ${JSON.stringify(tags)}`);
    t.equal(await record(null, tags), isCurrent ? 'VE002' : 'ok', `If-None-Match ${JSON.stringify(tags)}`);
  }
});

t.test('app.record_attendance reads the clock after the lock of the shift', async (t) => {
  const id = await insertShift(sql, manager, 1);
  const waiting = await connectAsRuntime(t, db);
  const recorded = await sql.inside(manager, async () => {
    await sql.client.query('select from app.shifts where id = $1 for update', [id]);
    const sent = waiting.run(manager, call, [id, idOf.get(anna), null, null, null, null]);
    t.equal(await untilWaitingForLocks(db, 1, sent), 1);
    await sql.client.query('update app.shifts set starts_at = clock_timestamp() where id = $1', [id]);
    return [sent];
  });
  t.match(await recorded[0], { code: 'ok', rowCount: 1 });
});

t.test('a Manager records under their own name only', async (t) => {
  const made = await record(anna);
  t.match(made, { tenant_id: clubId, recorded_by_id: idOf.get(manager), version: 1 });
  const change = `update app.attendance set status = 'Excused', recorded_by_id = $2 where id = $1`;
  for (const [caller, name] of [
    [manager, idOf.get(anna)],
    [admin, idOf.get(manager)],
    [manager, null],
  ] as const) {
    t.equal((await sql.run(caller, change, [made.id, name])).code, '42501', caller.role);
  }
  const unsigned = `update app.attendance set status = 'Excused' where id = $1`;
  t.equal((await sql.run(admin, unsigned, [made.id])).code, '42501', 'a change in the name of the last one');
  t.match(await stored(made.id), made);
  t.equal((await sql.run(admin, change, [made.id, idOf.get(admin)])).code, 'ok');
  t.match(await stored(made.id), { status: 'Excused', recorded_by_id: idOf.get(admin), version: 2 });
});

t.test('the database alone writes version, time, shift and member, and counts changes only', async (t) => {
  const made = await record(anna);
  for (const column of ['version', 'recorded_at', 'tenant_id', 'id']) {
    const written = `insert into app.attendance (shift_id, member_id, shift_title, starts_at, ends_at, was_signed_up, status, ${column})
      select app.new_id(), member_id, shift_title, starts_at, ends_at, was_signed_up, status, ${column} from app.attendance where id = $1`;
    t.equal((await sql.run(manager, written, [made.id])).code, '42501', `insert ${column}`);
  }
  for (const column of ['version', 'recorded_at', 'tenant_id', 'id', 'shift_id', 'member_id']) {
    const update = `update app.attendance set ${column} = ${column} where id = $1`;
    t.equal((await sql.run(manager, update, [made.id])).code, '42501', `update ${column}`);
  }
  const same = 'update app.attendance set status = status, recorded_by_id = app.member_id() where id = $1';
  t.match(await sql.run(manager, same, [made.id]), { code: 'ok', rowCount: 1 });
  t.match(await stored(made.id), made);

  await db.queryAsAdmin('update app.attendance set version = 2147483647 where id = $1', [made.id]);
  t.match(await stored(made.id), { version: 2 }, 'not even an administrator sets it');
  await db.queryAsAdmin(`set session_replication_role = replica;
    update app.attendance set version = 2147483647 where id = '${made.id}'`);
  const change = `update app.attendance set status = 'Excused' where id = $1`;
  t.equal((await sql.run(manager, change, [made.id])).code, 'AT001', 'there is no next version');
});
