import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import t from 'tap';
import { replaceLink } from '../../src/calendar/queries.js';
import { Database } from '../../src/database/database.js';
import { writeInTenant } from '../../src/database/tenant-context.js';
import { makeDatabase } from '../setup/database.js';
import { type Caller, connectAsRuntime } from '../setup/runtime.js';
import { callerOf } from '../setup/work.js';

const db = await makeDatabase(t);
const clubId = await db.makeClub('north');
const sql = await connectAsRuntime(t, db);

const viewer: Caller = { clubId, subject: 'vera', role: 'Viewer' };
const anna: Caller = { clubId, subject: 'anna', role: 'Member' };
const ben: Caller = { clubId, subject: 'ben', role: 'Member' };
const manager: Caller = { clubId, subject: 'mara', role: 'Manager' };
const admin: Caller = { clubId, subject: 'ada', role: 'Admin' };
const callers = [viewer, anna, ben, manager, admin];
const stranger: Caller = { clubId: await db.makeClub('south'), subject: 'anna', role: 'Admin' };
const idOf = new Map<Caller, string>();
for (const caller of [...callers, stranger]) {
  idOf.set(caller, await sql.join(caller));
}

const hashOf = ({ clubId, subject }: Caller) =>
  createHash('sha256').update(`${subject} in ${clubId}`).digest();
const insert = 'insert into app.calendar_links (secret_hash) values ($1)';
const makeLinks = async () => {
  await db.queryAsAdmin('delete from app.calendar_links');
  for (const caller of [...callers, stranger]) {
    await db.queryAsAdmin(
      'insert into app.calendar_links (tenant_id, id, member_id, secret_hash) values ($1, $2, $2, $3)',
      [caller.clubId, idOf.get(caller), hashOf(caller)],
    );
  }
};

t.test('every role reads and deletes its own link, an Admin every link', async (t) => {
  await makeLinks();
  for (const verb of ['select from', 'delete from']) {
    for (const caller of [...callers, stranger]) {
      for (const owner of callers) {
        const may = caller === admin || caller === owner;
        const outcome = await sql.run(caller, `${verb} app.calendar_links where id = $1`, [idOf.get(owner)]);
        t.match(
          outcome,
          { code: 'ok', rowCount: may ? 1 : 0 },
          `${caller.subject}, the link of ${owner.subject}: ${verb}`,
        );
        await makeLinks();
      }
    }
  }
  // Without a condition no row is read, so that this needs the policies of DELETE only.
  for (const caller of callers) {
    const { rowCount } = await sql.run(caller, 'delete from app.calendar_links');
    t.equal(rowCount, caller === admin ? callers.length : 1, `${caller.role}: delete all`);
    await makeLinks();
  }
});

t.test('a Member creates their own link, one at a time, and writes its hash only', async (t) => {
  await db.queryAsAdmin('delete from app.calendar_links');
  for (const caller of callers) {
    const { code } = await sql.run(caller, insert, [hashOf(caller)]);
    t.equal(code, caller === viewer ? '42501' : 'ok', caller.role);
  }
  t.match(await sql.run(anna, insert, [hashOf(viewer)]), {
    code: '23505',
    constraint: 'calendar_links_once',
  });
  t.match(await sql.run(ben, insert, [Buffer.from('short')]), { code: '23514' });
  const [link] = await db.queryAsAdmin(
    `select tenant_id, secret_hash, expires_at - created_at = interval '400 days' as is_long from app.calendar_links where member_id = $1`,
    [idOf.get(anna)],
  );
  t.match(link, { tenant_id: clubId, secret_hash: hashOf(anna), is_long: true });
  for (const column of ['tenant_id', 'id', 'member_id', 'created_at', 'expires_at']) {
    const written = `insert into app.calendar_links (secret_hash, ${column}) select sha256(''), ${column} from app.calendar_links`;
    t.equal((await sql.run(admin, written)).code, '42501', `insert ${column}`);
  }
  for (const [column, value] of Object.entries({
    id: 'id',
    expires_at: 'now()',
    secret_hash: `sha256('')`,
  })) {
    const update = `update app.calendar_links set ${column} = ${value}`;
    t.equal((await sql.run(admin, update)).code, '42501', `update ${column}`);
  }
  for (const read of [
    'select secret_hash from app.calendar_links',
    'select from app.calendar_links where secret_hash is not null',
    `delete from app.calendar_links where secret_hash = sha256('')`,
    'delete from app.calendar_links returning secret_hash',
    `${insert.replace('$1', `sha256('')`)} returning secret_hash`,
  ]) {
    t.equal((await sql.run(admin, read)).code, '42501', read);
  }
});

t.test('of links that a member creates at once one lives, and one was the first', async (t) => {
  const database = new Database({ url: db.url, size: 8, prepare: true, readsPerConnection: 1 });
  t.teardown(() => database.close());
  const caller = callerOf(clubId, 'Member', 'anna');
  await db.queryAsAdmin('delete from app.calendar_links');
  for (const firsts of [1, 0, 0]) {
    const hashes = Array.from({ length: 20 }, () =>
      hashOf({ ...anna, subject: randomUUID() }).toString('hex'),
    );
    const made = await Promise.all(
      hashes.map((hash) => writeInTenant(database, caller, 'write', (tx) => replaceLink(tx, hash))),
    );
    t.equal(made.filter((link) => link.parse().isNew).length, firsts);
    const links = await db.queryAsAdmin(`select encode(secret_hash, 'hex') as hash from app.calendar_links`);
    t.equal(links.length, 1);
    t.ok(hashes.includes(links[0]?.hash), 'the last one lives');
  }
});

/** Adds a shift that ended this long ago and signs up for it. */
const signUp = async ({ clubId }: Caller, memberId: string | undefined, title: string, ago: string) => {
  await db.queryAsAdmin(
    `with made as (
       insert into app.shifts (tenant_id, id, title, starts_at, ends_at, capacity, created_by_id)
       values ($1, gen_random_uuid(), $3, now() - $4::interval - interval '1 hour', now() - $4::interval, 9, $2) returning id
     )
     insert into app.shift_signups (tenant_id, id, shift_id, member_id, created_by_id) select $1, gen_random_uuid(), id, $2, $2 from made`,
    [clubId, memberId, title, ago],
  );
};
// Without triggers, which need a context.
await db.queryAsAdmin('set session_replication_role = replica');
await signUp(anna, idOf.get(anna), 'to come', '-3 days');
await signUp(anna, idOf.get(anna), 'just within', '2159 hours');
await signUp(anna, idOf.get(anna), 'too old', '2161 hours');
await signUp(ben, idOf.get(ben), 'of Ben', '1 day');
await signUp(stranger, idOf.get(stranger), 'elsewhere', '1 day');

const READ = 'select * from app.read_calendar($1, $2)';

t.test('a link reads the shifts of its member that ended at most 90 days ago', async (t) => {
  await makeLinks();
  const titles = async (club: string | null, hash: Buffer | null) => {
    const { rows } = await sql.client.query(READ, [club, hash]);
    return rows.map(({ club_name, shifts }) => [
      club_name,
      shifts.map(({ title }: { title: string }) => title),
    ]);
  };
  const annas = [['Club north', ['just within', 'to come']]];
  t.same(await titles(clubId, hashOf(anna)), annas);
  t.same(await titles(clubId, hashOf(manager)), [['Club north', []]], 'without a signup');
  t.same(await titles(stranger.clubId, hashOf(stranger)), [['Club south', ['elsewhere']]]);
  for (const [club, hash] of [
    [clubId, hashOf(stranger)],
    [stranger.clubId, hashOf(anna)],
    [idOf.get(anna) as string, hashOf(anna)],
    [clubId, Buffer.alloc(0)],
    [clubId, null],
    [null, hashOf(anna)],
  ] as const) {
    t.same(await titles(club, hash), [], `${club} ${hash?.toString('hex')}`);
  }

  await db.queryAsAdmin('update app.clubs set closed_at = now() where id = $1', [clubId]);
  t.same(await titles(clubId, hashOf(anna)), [], 'of a closed club');
  await db.queryAsAdmin('update app.clubs set closed_at = null where id = $1', [clubId]);
  const expire = `update app.calendar_links set created_at = now() - interval '400 days', expires_at = now() + $2::interval where id = $1`;
  await db.queryAsAdmin(expire, [idOf.get(anna), '1 minute']);
  t.same(await titles(clubId, hashOf(anna)), annas, 'to the end');
  await db.queryAsAdmin(expire, [idOf.get(anna), '0']);
  t.same(await titles(clubId, hashOf(anna)), [], 'expired');
});

t.test('a link reads without a role, and the context is the same afterwards', async (t) => {
  await makeLinks();
  const settings = ['tenant_id', 'user_id', 'role', 'member_id', 'link_hash', 'shift_ids'];
  const context = async () => {
    const read = settings.map((name) => `coalesce(current_setting('app.${name}', true), '') as ${name}`);
    return (await sql.client.query(`select ${read.join(', ')}`)).rows[0];
  };
  const setZone = (zone: string) =>
    db.queryAsAdmin('update app.clubs set time_zone = $2 where id = $1', [clubId, zone]);
  const none = Object.fromEntries(settings.map((name) => [name, '']));
  for (const [title, begin] of [
    ['nothing', async () => sql.client.query('begin')],
    ['a Viewer of another club', () => sql.begin({ ...stranger, role: 'Viewer' })],
    ['another member', () => sql.begin(ben)],
    [
      'every setting',
      async () => {
        await sql.client.query('begin');
        for (const name of settings) {
          await sql.client.query(`select set_config('app.${name}', 'of ${name}', true)`);
        }
      },
    ],
  ] as const) {
    await begin();
    const before = await context();
    for (const hash of [hashOf(anna), hashOf(stranger), null]) {
      const { rowCount } = await sql.client.query(READ, [clubId, hash]);
      t.equal(rowCount, hash?.equals(hashOf(anna)) ? 1 : 0, title);
      t.same(await context(), before, `${title} stays`);
    }
    await sql.client.query('savepoint here');
    await setZone('Nowhere');
    await t.rejects(
      sql.client.query(READ, [clubId, hashOf(anna)]),
      { code: '22023' },
      'an error in the function',
    );
    await setZone('Europe/Berlin');
    await sql.client.query('rollback to here');
    t.same(await context(), before, `${title} stays after an error`);
    await sql.client.query('rollback');
    t.same(await context(), none, 'nothing stays after the transaction');
  }
});

t.test('club_calendar sees one link, the signups of its member, their shifts and the club', async (t) => {
  await makeLinks();
  const calendar = new pg.Client(db.adminUrl);
  await calendar.connect();
  t.teardown(() => calendar.end());
  const rows = async (from: string) => (await calendar.query(`select * from (${from}) as found`)).rows;
  const reads = {
    calendar_links: 'select member_id as id from app.calendar_links',
    clubs: 'select id from app.clubs',
    shift_signups: 'select shift_id as id from app.shift_signups',
    shifts: 'select id from app.shifts',
  };
  const of = (caller: Caller) =>
    db.queryAsAdmin<{ shift_id: string }>('select shift_id from app.shift_signups where member_id = $1', [
      idOf.get(caller),
    ]);
  const annas = (await of(anna)).map(({ shift_id: id }) => ({ id }));
  const [bens] = await of(ben);
  const set = (name: string, value: unknown) =>
    calendar.query(`select set_config('app.${name}', $1, true)`, [value]);

  await calendar.query('begin; set local role club_calendar; savepoint here');
  for (const [table, read] of Object.entries(reads)) {
    await t.rejects(rows(read), { code: 'TN001' }, `${table} without a context`);
    await calendar.query('rollback to here');
  }
  await set('tenant_id', clubId);
  await set('link_hash', `\\x${hashOf(anna).toString('hex')}`);
  await set('member_id', idOf.get(anna));
  await set('shift_ids', `{${[...annas, { id: bens?.shift_id }].map(({ id }) => id)}}`);
  t.same(await rows(reads.calendar_links), [{ id: idOf.get(anna) }]);
  t.same(await rows(reads.clubs), [{ id: clubId }]);
  t.same(
    await rows(`${reads.shift_signups} order by shift_id`),
    annas.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  );
  t.equal((await rows(reads.shifts)).length, annas.length + 1, 'the listed shifts');
  await set('tenant_id', stranger.clubId);
  for (const table of ['calendar_links', 'shift_signups', 'shifts'] as const) {
    t.same(await rows(reads[table]), [], `${table} of another club`);
  }

  await calendar.query('savepoint here');
  for (const refused of [
    'select secret_hash from app.calendar_links',
    'select slug from app.clubs',
    'select member_id from app.shift_signups',
    'select created_by_id from app.shifts',
    'select from app.members',
    'select from app.tasks',
    'select app.role()',
    'delete from app.calendar_links',
    `update app.shifts set title = 'x'`,
    'insert into app.shift_signups default values',
  ]) {
    await t.rejects(calendar.query(refused), { code: '42501' }, refused);
    await calendar.query('rollback to here');
  }
});
