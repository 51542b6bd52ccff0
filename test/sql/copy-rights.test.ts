import pg from 'pg';
import t from 'tap';
import { ROLES } from '../../src/roles.js';
import { makeDatabase } from '../setup/database.js';
import { type Caller, connectAsRuntime } from '../setup/runtime.js';

const db = await makeDatabase(t);
const clubId = await db.makeClub('north');
const sql = await connectAsRuntime(t, db);

const callers: Caller[] = ROLES.map((role) => ({ clubId, subject: role, role }));
const stranger: Caller = { clubId: await db.makeClub('south'), subject: 'Admin', role: 'Admin' };
const idOf = new Map<Caller, string>();
for (const caller of [...callers, stranger]) {
  idOf.set(caller, await sql.join(caller));
}
/** Each of them has created a task of each other one, and acted in an event about them. */
for (const [maker, makerId] of idOf) {
  for (const [{ clubId }, memberId] of idOf) {
    if (clubId === maker.clubId) {
      await db.queryAsAdmin(
        `insert into app.tasks (tenant_id, id, title, assignee_id, created_by_id) values ($1, gen_random_uuid(), 'Row', $2, $3)`,
        [clubId, memberId, makerId],
      );
    }
  }
  await db.queryAsAdmin(
    `insert into app.attendance (tenant_id, id, shift_id, member_id, shift_title, starts_at, ends_at, was_signed_up, status, recorded_by_id)
     values ($1, gen_random_uuid(), gen_random_uuid(), $2, 'Row', now() - interval '1 hour', now(), false, 'Excused', $2)`,
    [maker.clubId, makerId],
  );
  await db.queryAsAdmin(
    `insert into app.idempotency_keys (tenant_id, member_id, key, request) values ($1, $2, 'a key', sha256('a request'))`,
    [maker.clubId, makerId],
  );
}

t.test(
  'every role reads the data about their own member, an Admin about any member of the club',
  async (t) => {
    for (const caller of [...callers, stranger]) {
      for (const [owner, ownersId] of idOf) {
        const may = caller === owner || (caller.role === 'Admin' && owner.clubId === caller.clubId);
        // Not what both have in common either.
        const { rows } = await sql.run(caller, 'select * from app.read_member_data($1)', [ownersId]);
        t.equal(
          rows.length,
          may ? 1 : 0,
          `${caller.subject} in ${caller.clubId}, the data of ${owner.subject}`,
        );
      }
    }
  },
);

t.test('club_copy sees what is about the caller, for an Admin what is about all, of one club', async (t) => {
  const copy = new pg.Client(db.adminUrl);
  await copy.connect();
  t.teardown(() => copy.end());
  const visible = async () => {
    const counts: Record<string, number> = {};
    for (const [table, columns] of Object.entries({
      members: 'id',
      tasks: 'assignee_id, created_by_id',
      attendance: 'member_id',
      events: 'member_id, actor_id',
      idempotency_keys: 'member_id',
    })) {
      const { rows } = await copy.query(`select ${columns} from app.${table}`);
      counts[table] = rows.length;
      counts[`${table} of others`] = rows.filter((row) => !Object.values(row).includes(member)).length;
    }
    return counts;
  };
  let member: string | undefined;
  for (const caller of callers) {
    member = idOf.get(caller);
    await copy.query('begin; set local role club_copy; savepoint here');
    await t.rejects(visible(), { code: 'TN001' }, 'without a context');
    await copy.query('rollback to here');
    for (const [name, value] of Object.entries({ tenant_id: clubId, member_id: member, role: caller.role })) {
      await copy.query(`select set_config('app.' || $1, $2, true)`, [name, value]);
    }
    const own = { members: 1, tasks: 7, attendance: 1, idempotency_keys: 1 };
    const all = { members: 4, tasks: 16, attendance: 4, idempotency_keys: 4 };
    const none = {
      'members of others': 0,
      'tasks of others': 0,
      'attendance of others': 0,
      'events of others': 0,
      'idempotency_keys of others': 0,
    };
    t.match(await visible(), caller.role === 'Admin' ? all : { ...own, ...none }, caller.role);
    await copy.query('savepoint here');
    for (const refused of [
      'select body from app.idempotency_keys',
      'select key from app.idempotency_keys',
      'select display_name from app.members',
      'select secret_hash from app.calendar_links',
      'select from app.shift_signups',
      `update app.tasks set title = 'x'`,
      'delete from app.events',
    ]) {
      await t.rejects(copy.query(refused), { code: '42501' }, refused);
      await copy.query('rollback to here');
    }
    await copy.query('rollback');
  }
});
