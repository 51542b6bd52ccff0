import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { deploy } from '../../src/deploy/deploy.js';
import { startPostgres } from '../../tools/postgres.js';
import { root } from '../../tools/root.js';
import { fillEmptyTables } from '../setup/catalog-rows.js';

/** Debian's server: the installed pg_dump cannot dump a newer server. */
const BIN = '/usr/lib/postgresql/15/bin';
const skip = !existsSync(`${BIN}/pg_dump`) && 'PostgreSQL 15 is missing; install postgresql-15';

t.test('every command of docs/operate.md works as printed', { skip }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'club-operate-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  for (const part of ['dist', 'sql']) {
    await symlink(join(root, part), join(directory, part));
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'club-server-'));
  const server = await startPostgres({ dataDir, throwaway: true, bin: BIN });
  t.teardown(() => server.stop());
  await withClient(server.url('postgres'), (superuser) =>
    superuser.query(`create role admin login createrole createdb password 'PASSWORD'`),
  );

  const whole = readFileSync(join(root, 'docs/operate.md'), 'utf8');
  // `make failover` runs the commands of this section.
  const page = whole.replace(/^## Failover\n.*?(?=^## )/ms, '');
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, text]) => text as string);
  const ran = new Set<string>();
  const address = `${server.host}:${server.port}`;
  const superuserUrl = server.url('').replace(/\/$/, '');
  /** Runs the block with this text, with the placeholders in capitals replaced. */
  const run = (part: string, names: Record<string, string> = {}) => {
    const block = blocks.find((text) => text.includes(part)) ?? '';
    ran.add(block);
    // Other tests run the commands that install and serve.
    let text = block.replaceAll(/^(npm ci|DATABASE_URL=|AUTH_ISSUER=).*$/gm, '');
    for (const [name, value] of Object.entries({ 'db.example.org:5432': address, ...names })) {
      text = text.replaceAll(name, value);
    }
    return promisify(execFile)('sh', ['-e', '-c', text], {
      cwd: directory,
      env: {
        PATH: `${BIN}:${process.env.PATH}`,
        ADMIN_URL: `postgres://admin:PASSWORD@${address}`,
        SUPERUSER_URL: superuserUrl,
        MIGRATION_DATABASE_URL: `postgres://club_migrator:DEPLOY_PASSWORD@${address}/clubs`,
      },
    });
  };
  const queryAsAdmin = (sql: string, values: unknown[] = []) =>
    withClient(`${superuserUrl}/clubs`, async (client) => (await client.query(sql, values)).rows);
  const provision = (slug: string) =>
    queryAsAdmin('select app.provision_club($1, $1) as id', [slug]).then(([row]) => row.id as string);
  /** The rows of a club, in the tables that the audit lists. */
  const rowsOf = async (club: string) => {
    const tables = await queryAsAdmin(
      `select relation, tenant_column from audit.tables where schema = 'app' and kind = 'table' and not is_reference`,
    );
    const rows: Record<string, unknown[]> = {};
    for (const { relation, tenant_column } of tables) {
      rows[relation] = await queryAsAdmin(
        `select to_jsonb(t) as row from ${relation} as t where ${tenant_column} = $1 order by t::text`,
        [club],
      );
    }
    return rows;
  };

  await run("'create database clubs'");
  await run('node dist/migrate.js');
  t.match((await run('node dist/audit.js')).stdout, /0 critical|no finding/i);
  t.equal((await run('sql/check.sql')).stdout, 'the same\n');

  const first = await provision('first');
  const { stdout: managed } = await run('app.provision_club', { CLUB_ID: first });
  t.match(managed, /^ [0-9a-f-]{36}$/m);
  t.same(await queryAsAdmin('select name, slug, closed_at from app.clubs where id = $1', [first]), [
    { name: 'Chess Club North', slug: 'chess-north', closed_at: null },
  ]);

  const db = { url: '', migrationUrl: '', adminUrl: '', queryAsAdmin, makeClub: provision };
  await withClient(`${superuserUrl}/clubs`, async (client) => {
    await fillEmptyTables(
      { ...db, queryAsAdmin: async (sql, values) => (await client.query(sql, values)).rows },
      first,
    );
  });
  const [member] = await queryAsAdmin('select id, external_user_id from app.members where tenant_id = $1', [
    first,
  ]);
  const { stdout: memberships } = await run("'SUB'", { SUB: member.external_user_id });
  t.match(memberships, `${first} | ${member.id}`);
  await queryAsAdmin(`update app.members set left_at = now() - interval '3 years' where id = $1`, [
    member.id,
  ]);
  const { stdout: gone } = await run("'2 years'");
  t.match(gone, `${first} | ${member.id} |`);
  t.match(gone, /\(1 row\)/);
  await run('app.erase_member', { CLUB_ID: first, MEMBER_ID: member.id });
  t.same(await queryAsAdmin('select display_name from app.members where id = $1', [member.id]), [
    { display_name: 'Former member' },
  ]);

  // Before the other one in the order of slugs.
  const leaving = await provision('a-club');
  await queryAsAdmin(`select app.begin_move($1, app.new_id(), 'east')`, [leaving]);
  t.match((await run('app.forget_events')).stdout, /^chess-north\|0$/m, 'another club moves');
  await queryAsAdmin('select app.abort_move(id, move_id) from app.list_moves()');
  t.match((await run('app.calendar_links', { CLUB_ID: first })).stdout, /^DELETE \d+$/m);

  // As a managed server does for the login of its customer.
  await queryAsAdmin('grant pg_read_all_stats, pg_signal_backend to admin');
  await withClient(`postgres://club_migrator:DEPLOY_PASSWORD@${address}/clubs`, async (session) => {
    await session.query('begin');
    const { pid } = (await session.query('select pg_backend_pid() as pid')).rows[0];
    const { stdout: found } = await run('pg_stat_activity', { '10 seconds': '0 seconds', PID: String(pid) });
    t.match(found, new RegExp(`^ +${pid} \\| club_migrator \\| idle in transaction`, 'm'));
    await t.rejects(session.query('select'), 'the session was ended');
  });

  await run('pg_dump');
  const restored = `postgres://club_migrator:DEPLOY_PASSWORD@${address}/clubs_restored`;
  await deploy(restored);
  t.match(await deploy(restored), { applied: false }, 'the second deploy has nothing to do');
  await withClient(`${superuserUrl}/clubs_restored`, async (client) => {
    t.same((await client.query('select code, object from audit.findings')).rows, []);
  });
  const before = await rowsOf(first);
  t.match(
    (await run('club.js export chess-north chess')).stdout,
    /^Exported the club chess-north .*: \d+ rows of \d+ tables\.\n$/,
  );
  await run('select slug from app.list_clubs()');
  const files = (await readdir(directory)).filter((name) => name.endsWith('.club'));
  t.equal(files.length, 1 + (await queryAsAdmin('select from app.clubs')).length, 'and one of each club');
  await t.rejects(run('import chess-north.club'), /The database has the club chess-north .* already/);
  await run('app.forget_club', { CLUB_ID: first });
  t.same(new Set(Object.values(await rowsOf(first)).map(({ length }) => length)), new Set([0]));
  t.match(
    (await run('import chess-north.club')).stdout,
    /^Imported the club chess-north .* The club is closed/,
  );
  await run('import chess-north.club --replace', { CLUB_ID: first });
  t.same(await rowsOf(first), before, 'the club is restored, and open');
  await withClient(restored, async (client) => {
    await client.query('set role club_owner');
    for (const call of ['close_club', 'forget_club']) {
      await client.query(`select app.${call}($1)`, [first]);
    }
  });
  await run('clubs_restored node');
  await run('zcat chess-north.club');
  const { stdout: copy } = await promisify(execFile)('zcat', [join(directory, 'chess-north.json.gz')]);
  t.match(copy, '"table": "app.tasks"');
  t.notMatch(copy, /"secret_hash": |"request": /);
  t.same(await queryAsAdmin('select code, object from audit.findings'), []);

  const login = (role: string, password: string) =>
    withClient(`postgres://${role}:${password}@${address}/clubs`, (client) => client.query('select'));
  await run('create role club_api_2');
  await login('club_api_2', 'NEW_PASSWORD');
  t.same(
    await queryAsAdmin(`select rolconfig from pg_roles where rolname = 'club_api_2'`),
    await queryAsAdmin(`select rolconfig from pg_roles where rolname = 'club_api'`),
  );
  await run('CHANGED_PASSWORD');
  await login('club_api', 'CHANGED_PASSWORD');
  await t.rejects(login('club_api', 'API_PASSWORD'), { cause: { code: '28P01' } }, 'the old password');
  await run('drop role club_api_2');
  await t.rejects(login('club_api_2', 'NEW_PASSWORD'), { cause: { code: '28P01' } });
  t.same(await queryAsAdmin('select code, object from audit.findings'), []);

  t.same(
    blocks.filter((block) => !ran.has(block)),
    [],
    'no command is missing',
  );
});
