import t from 'tap';
import { makeDatabase } from '../setup/database.js';
import { type Caller, connectAsRuntime } from '../setup/runtime.js';

const db = await makeDatabase(t);
const clubId = await db.makeClub('north');
const sql = await connectAsRuntime(t, db);

const admin: Caller = { clubId, subject: 'ada', role: 'Admin' };
const anna: Caller = { clubId, subject: 'anna', role: 'Member' };
const adminId = await sql.join(admin);
const annaId = await sql.join(anna);

const members = () => db.queryAsAdmin('select * from app.members order by external_user_id');

t.test('a caller creates and updates their own member row only, with the role of their token', async (t) => {
  const before = await members();
  const insert = 'insert into app.members (external_user_id, display_name, role) values ($1, $1, $2)';
  const newcomer: Caller = { clubId, subject: 'nora', role: 'Viewer' };
  for (const [caller, subject, role] of [
    [newcomer, 'another', 'Viewer'],
    [newcomer, 'nora', 'Admin'],
    [admin, 'another', 'Admin'],
  ] as const) {
    t.equal(
      (await sql.run(caller, insert, [subject, role])).code,
      '42501',
      `${caller.subject}: ${subject}, ${role}`,
    );
  }
  for (const [caller, other] of [
    [anna, adminId],
    [admin, annaId],
  ] as const) {
    const rename = `update app.members set display_name = 'x' where id = $1`;
    t.match(await sql.run(caller, rename, [other]), { code: 'ok', rowCount: 0 }, caller.subject);
    const promote = `update app.members set role = 'Manager'`;
    t.equal((await sql.run(caller, promote)).code, '42501', caller.subject);
  }
  t.same(await members(), before);

  t.equal((await sql.run(newcomer, insert, ['nora', 'Viewer'])).code, 'ok');
  t.match(await sql.run(anna, `update app.members set display_name = 'Anna'`), { code: 'ok', rowCount: 1 });
  t.match(await members(), [
    { id: adminId, display_name: 'ada' },
    { id: annaId, display_name: 'Anna' },
    { external_user_id: 'nora', role: 'Viewer' },
  ]);
});
