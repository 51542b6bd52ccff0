import t from 'tap';
import { isAtLeast, type Role } from '../../src/roles.js';
import { makeDatabase } from '../setup/database.js';
import { type Caller, connectAsRuntime, enter } from '../setup/runtime.js';

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

t.test(
  'Managers change members without a login by functions, and only Admins remove them or end memberships',
  async (t) => {
    const enterIda = `insert into app.members (external_user_id, display_name, role) values (null, 'Ida', 'Member')`;
    const manager: Caller = { clubId, subject: 'mara', role: 'Manager' };
    await sql.join(manager);
    t.equal((await sql.run(anna, enterIda)).code, '42501');
    t.equal((await sql.run(manager, enterIda)).code, 'ok');
    const [ida] = await db.queryAsAdmin(`select id from app.members where display_name = 'Ida'`);
    for (const [call, least] of [
      [`app.patch_member($1, '{"reference": "7"}')`, 'Manager'],
      [`app.set_membership($1, 'Left')`, 'Admin'],
      [`app.set_membership($1, 'Active')`, 'Admin'],
      [`app.merge_members($1, '${annaId}')`, 'Admin'],
      ['app.delete_member($1)', 'Admin'],
    ] as const) {
      for (const caller of [anna, manager, admin]) {
        const may = isAtLeast(caller.role, least);
        await sql.client.query('begin');
        await sql.client.query(`select from ${enter(caller)}`);
        const result = await sql.client.query(`select ${call}`, [ida?.id]).then(
          () => 'ok',
          ({ code }: { code: string }) => code,
        );
        await sql.client.query('rollback');
        t.equal(result, may ? 'ok' : 'ME001', `${caller.role}: ${call}`);
      }
    }
  },
);

t.test(
  'app.enter says whether a token changes the member, and app.sync_member writes no older token',
  async (t) => {
    interface Token {
      subject: string;
      role: Role;
      name: string | null;
      email: string | null;
      at: string | null;
    }
    const token: Token = {
      subject: 'tom',
      role: 'Member',
      name: 'Tom',
      email: 'tom@example.org',
      at: '2026-01-01T12:00:00Z',
    };
    /** What a request with the token does, in a transaction that is rolled back unless it is the first. */
    const request = async ({ subject, name, email, role, at }: Token, isFirst = false) => {
      await sql.client.query('begin');
      const claims = { display_name: name, email, issued_at: at };
      const entered = await sql.client.query(
        `select club_exists, member_id, member_is_current from ${enter({ clubId, subject, role }, claims)}`,
      );
      const synced = await sql.client.query('select app.sync_member($1, $2, $3) as id', [name, email, at]);
      await sql.client.query(isFirst ? 'commit' : 'rollback');
      return { ...entered.rows[0], written: synced.rows[0]?.id };
    };
    const { written: id, ...first } = await request(token, true);
    t.same(first, { club_exists: true, member_id: null, member_is_current: null });
    const [earlier, later] = ['2026-01-01T11:59:59Z', '2026-01-01T12:00:01Z'];
    for (const [changes, isCurrent, isWritten] of [
      [{}, true, true],
      [{ name: null, email: null, at: later }, true, true],
      [{ name: 'Thomas' }, false, true],
      [{ email: 'thomas@example.org', at: later }, false, true],
      [{ role: 'Viewer' }, false, true],
      [{ name: 'Thomas', at: earlier }, true, false],
      [{ role: 'Viewer', at: earlier }, true, false],
      // A token without a time is older than one with a time.
      [{ name: 'Thomas', at: null }, true, false],
    ] as [Partial<Token>, boolean, boolean][]) {
      const expected = {
        club_exists: true,
        member_id: id,
        member_is_current: isCurrent,
        written: isWritten ? id : null,
      };
      t.same(await request({ ...token, ...changes }), expected, JSON.stringify(changes));
    }
    // The member of Anna has no time of a token yet.
    t.match(await request({ ...token, subject: 'anna' }), {
      member_id: annaId,
      member_is_current: false,
      written: annaId,
    });
  },
);
