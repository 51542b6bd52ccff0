import t from 'tap';
import { makeDatabase } from '../setup/database.js';
import { type Caller, connectAsRuntime } from '../setup/runtime.js';
import { countsOf, insertShift } from '../setup/shifts.js';

const db = await makeDatabase(t);
const north = await db.makeClub('north');
const south = await db.makeClub('south');
const session = await connectAsRuntime(t, db);

const manager: Caller = { clubId: north, subject: 'mara', role: 'Manager' };
const admin: Caller = { clubId: north, subject: 'ada', role: 'Admin' };
const viewer: Caller = { clubId: north, subject: 'vera', role: 'Viewer' };
const anna: Caller = { clubId: north, subject: 'anna', role: 'Member' };
const bert: Caller = { clubId: north, subject: 'bert', role: 'Member' };
const stranger: Caller = { clubId: south, subject: 'anna', role: 'Admin' };
const idOf = new Map<string, string>();
for (const caller of [manager, admin, viewer, anna, bert]) {
  idOf.set(caller.subject, await session.join(caller));
}
await session.join(stranger);

const signUp = (caller: Caller, id: string) => session.run(caller, 'select * from app.sign_up($1)', [id]);
const cancel = (caller: Caller, id: string) => session.run(caller, 'select app.cancel_sign_up($1)', [id]);

/** Signs Bert up or off. */
const assign = (caller: Caller, id: string) =>
  session.run(caller, 'select * from app.assign_sign_up($1, $2)', [id, idOf.get('bert')]);
const remove = (caller: Caller, id: string) =>
  session.run(caller, 'select app.remove_sign_up($1, $2)', [id, idOf.get('bert')]);

const makeShift = (capacity: number, creator = manager) => insertShift(session, creator, capacity);

t.test('the functions run with the rights of three roles and still see one club only', async (t) => {
  const id = await makeShift(2);
  await signUp(anna, id);
  // Anna's user, as an Admin of another club.
  for (const act of [signUp, cancel, assign, remove]) {
    t.equal((await act(stranger, id)).code, 'SH001');
  }
  t.same(await countsOf(db, id), [1, 1]);
  t.same(
    await db.queryAsAdmin(
      `select distinct rolname, rolsuper or rolbypassrls or rolcanlogin as mighty
       from pg_proc join pg_roles as role on role.oid = proowner
       where pronamespace = 'app'::regnamespace and prosecdef and proname ~ 'sign' order by rolname`,
    ),
    [
      { rolname: 'club_places', mighty: false },
      { rolname: 'club_roster', mighty: false },
      { rolname: 'club_signup', mighty: false },
    ],
  );
});

t.test(
  'a Viewer, and a session that has not entered a club, cannot sign up, and a Member no other',
  async (t) => {
    const id = await makeShift(2);
    for (const act of [signUp, cancel, assign, remove]) {
      t.not((await act(viewer, id)).code, 'ok');
    }
    for (const act of [assign, remove]) {
      t.equal((await act(anna, id)).code, 'SH001');
    }
    for (const call of [
      'sign_up($1)',
      'cancel_sign_up($1)',
      'assign_sign_up($1, $1)',
      'remove_sign_up($1, $1)',
    ]) {
      await t.rejects(session.client.query(`select app.${call}`, [id]), { code: 'TN001' });
    }
    t.same(await countsOf(db, id), [0, 0]);
  },
);

t.test('the counter equals the rows after signing up, cancelling and rolling back', async (t) => {
  const id = await makeShift(5);
  for (const [act, caller, count] of [
    [signUp, anna, 1],
    [signUp, bert, 2],
    [signUp, bert, 2],
    [cancel, anna, 1],
    [cancel, anna, 1],
    [signUp, anna, 2],
  ] as const) {
    await act(caller, id);
    t.same(await countsOf(db, id), [count, count]);
  }
  await session.begin(admin);
  await session.client.query('select app.sign_up($1)', [id]);
  await session.client.query('rollback');
  t.same(await countsOf(db, id), [2, 2]);
});

t.test('deleting a shift deletes its signups and changes no other shift’s counter', async (t) => {
  const [id, kept] = [await makeShift(2), await makeShift(2)];
  for (const shift of [id, kept]) {
    await signUp(anna, shift);
    await signUp(bert, shift);
  }
  t.equal((await session.run(admin, 'delete from app.shifts where id = $1', [id])).rowCount, 1);
  t.same(await countsOf(db, id), []);
  t.same(await db.queryAsAdmin('select from app.shift_signups where shift_id = $1', [id]), []);
  t.same(await countsOf(db, kept), [2, 2]);
});
