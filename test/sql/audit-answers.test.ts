import type pg from 'pg';
import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { deploy } from '../../src/deploy/deploy.js';
import { createDatabase } from '../../tools/development-database.js';
import { makeDatabase } from '../setup/database.js';
import { startServer } from '../setup/server.js';
import { until } from '../setup/wait.js';

/** SQLSTATEs of a statement with a wrong name: a syntax error, or no such table, object or function. */
const NOT_UNDERSTOOD = ['42601', '42P01', '42704', '42883'];

t.test('the audit gives the same findings to every reader and with every search_path', async (t) => {
  const db = await makeDatabase(t);
  const readings: { facts: unknown[]; findings: unknown[] }[] = [];
  for (const [role, path] of [
    ['club_auditor', 'pg_catalog'],
    ['club_api', 'app, pg_temp'],
    ['club_owner', 'public'],
    ['club_api', ''],
  ] as const) {
    await withClient(db.adminUrl, async (client) => {
      await client.query(`set session authorization ${role}`);
      await client.query(`select set_config('search_path', $1, false)`, [path]);
      const { rows: facts } = await client.query(
        'select kind, object, fact, make, unmake from audit.facts order by 1, 2',
      );
      readings.push({ facts, findings: (await client.query('table audit.findings')).rows });
    });
  }
  t.same(readings[0]?.findings, []);
  t.ok(Number(readings[0]?.facts.length) > 300);
  for (const reading of readings.slice(1)) {
    t.same(reading, readings[0]);
  }
});

t.test('the audit also works with unusual names of objects, and quotes them for SQL', async (t) => {
  const db = await makeDatabase(t);
  /** SQL that makes objects, and the names that the fixes must have. */
  const strange: [statement: string, ...names: string[]][] = [
    ['alter table app.shifts rename column tenant_id to "tenant id"', '"tenant id"'],
    [
      'create table app."Tä ""ble" ("Tenant_id" uuid, "a b" int primary key)',
      'app."Tä ""ble"',
      '"Tenant_id"',
      '"a b"',
    ],
    [
      'create role "Al Ice"; grant select ("name") on app.clubs to "Al Ice"; create policy "p q" on app.clubs to "Al Ice" using (true)',
      '"Al Ice"',
      '"p q"',
    ],
    [
      'create function app."F n"(out a int, inout b text default $$x$$, variadic "c d" text[] default $${}$$) language sql security definer as $$ select 1, $1 $$',
      'app."F n"(text,text[])',
    ],
    ['create aggregate app."A g"(int) (sfunc = int4pl, stype = int)', 'app."A g"(integer)'],
    ['create domain app."D m" as text check (value <> $$$$)', 'app."D m"'],
    ['create type app."C t" as (a int)', 'app."C t"'],
  ];
  await withClient(db.adminUrl, async (client) => {
    await client.query('begin');
    for (const [statement] of strange) {
      await client.query(statement);
    }
    const { rows } = await client.query<{ object: string; fix: string }>(
      'select object, fix from audit.findings',
    );
    const fixes = rows.map(({ fix }) => fix);
    for (const name of strange.flatMap(([, ...names]) => names)) {
      t.ok(
        rows.some(({ object, fix }) => object.includes(name) || fix.includes(name)),
        name,
      );
    }
    for (const fix of fixes) {
      await client.query('savepoint fix');
      const code = await client.query(fix).then(
        () => undefined,
        (error) => error.code,
      );
      t.notOk(NOT_UNDERSTOOD.includes(code), `${code}: ${fix}`);
      await client.query('rollback to fix');
    }
    await client.query('rollback');
  });
});

t.test(
  'a fix that is a comment has one line, even with a line break in the name of the object',
  async (t) => {
    const db = await makeDatabase(t);
    const name = '"a\ndrop schema app cascade;\r--"';
    const changes = {
      'app.': `create table app.${name} (id int)`,
      'public.': `create table public.${name} (id int)`,
      'information_schema.': `create table information_schema.${name} (id int)`,
      'column ': `alter table app.tasks add column ${name} int`,
    };
    await db.queryAsAdmin(Object.values(changes).join('; '));
    const fixes = await db.queryAsAdmin(`select fix from audit.findings where fix ~ '^--'`);
    for (const [before, change] of Object.entries(changes)) {
      t.ok(
        fixes.some(({ fix }) => fix.includes(`${before}"a drop schema app cascade`)),
        change,
      );
    }
    t.same(
      fixes.filter(({ fix }) => /[\n\r]/.test(fix)),
      [],
    );
  },
);

t.test(
  'the audit also works with a partition key that calls a function, and with any name of a column',
  async (t) => {
    const db = await makeDatabase(t);
    await db.queryAsAdmin(`create function public.f(int) returns int language sql immutable return $1;
    create table app.parted (id int) partition by range (public.f(id));
    alter table app.idempotency_keys rename column created_at to "t)";
    alter table app.tasks rename column title to "Tä\\d [*"`);
    t.same(
      await db.queryAsAdmin(
        `select object, fix from audit.findings where code = 'expression_calls_function'`,
      ),
      [
        {
          object: 'table app.parted',
          fix: '-- Create it again with another partition key: app.parted',
        },
      ],
    );
    await db.queryAsAdmin(`create policy named on app.tasks for select to club_api using ("Tä\\d [*" = 'x')`);
    t.same(await db.queryAsAdmin(`select object from audit.findings where code = 'audit_failed'`), []);
  },
);

t.test('objects and settings beside the service cause no finding', async (t) => {
  const db = await makeDatabase(t);
  const settings = await db.queryAsAdmin(
    `select format('alter role second_login set %s = %s', name, case name when 'search_path' then value else quote_literal(value) end) as statement
     from audit.role_settings where role = 'club_api'`,
  );
  const beside = [
    ['create role second_login login in role club_api', ...settings.map(({ statement }) => statement)].join(
      '; ',
    ),
    `create role shop login; create schema shop authorization shop; set local role shop;
     create table shop.orders (id serial primary key); create view shop.all_orders as table shop.orders;
     create function shop.count() returns bigint language sql security definer as 'select count(*) from shop.orders';
     alter default privileges in schema shop grant select on tables to public; create type shop.price as (cents int);
     create function shop.of(shop.price) returns text language sql return null::text; create cast (shop.price as text) with function shop.of;
     alter table shop.orders add check (shop.count() < 10), alter column id set default shop.count();
     create operator shop.= (leftarg = uuid, rightarg = uuid, function = uuid_eq); reset role;
     do $$ begin execute format('grant temporary on database %I to shop', current_database()); end $$`,
    `create role shop login; alter role shop set local_preload_libraries = ''; alter role shop set app.jwt_secret = 'x';
     do $$ begin execute format('alter database %I set app.jwt_secret = ''x''', current_database()); end $$`,
    `create role alice login in role club_auditor; alter role alice set local_preload_libraries = ''`,
    `create role dana; grant execute on function pg_ls_dir(text), pg_switch_wal(), pg_stat_reset() to dana;
     grant select on pg_stat_activity, pg_stats, pg_class to dana`,
    `create role dba login; grant pg_monitor, pg_signal_backend, pg_checkpoint to dba; grant set on parameter work_mem, row_security to dba;
     grant set, alter system on parameter log_min_duration_statement to dba; grant alter system on parameter "my.setting" to dba`,
    `alter role all set synchronous_commit = remote_apply; alter role all set zero_damaged_pages = off`,
    `create role ops in role pg_monitor; create schema ops authorization ops; set local role ops;
     create function ops.count() returns bigint language sql security definer set search_path = pg_catalog, pg_temp as 'select count(*) from pg_stat_activity'; reset role`,
    'create role dana; grant execute on function random(), md5(text) to dana; revoke execute on function random() from dana; revoke execute on function pg_sleep(double precision) from public',
    `create role dana; do $$ declare name text; begin
       for name in select oid::regprocedure from pg_proc where proname in ('current_setting', 'set_config', 'now', 'clock_timestamp', 'nextval', 'to_jsonb')
       loop execute format('grant execute on function %s to dana', name); end loop; end $$`,
  ];
  await withClient(db.adminUrl, async (client) => {
    const { rows: versions } = await client.query(
      `select current_setting('server_version_num')::int >= 160000 as "is16"`,
    );
    if (versions[0].is16) {
      beside.push(
        'create role boss login createrole; set local role boss; create role reporting; reset role',
      );
    }
    for (const statement of beside) {
      await client.query('begin');
      await client.query(statement);
      t.same((await client.query('table audit.findings')).rows, [], statement);
      await client.query('rollback');
    }
    await client.query(`begin; ${beside[1]}; set local role shop; grant create, usage on schema shop to public; grant all on all tables in schema shop to public;
      select lo_create(4244); grant all on large object 4244 to public; reset role`);
    const { rows: shared } = await client.query(
      'select distinct severity, code from audit.findings order by code',
    );
    t.same(shared, [
      { severity: 'warning', code: 'large_object_shared' },
      { severity: 'warning', code: 'schema_shared' },
    ]);
    await client.query('rollback');
    await client.query(`begin; ${beside[0]}; alter role second_login bypassrls`);
    const { rows } = await client.query('select code from audit.findings');
    t.same(
      rows,
      [{ code: 'beyond_row_level_security' }, { code: 'role_lent' }],
      'a second login that bypasses policies',
    );
    await client.query('rollback');
  });
});

t.test('a power of a role outside the service is a finding, and a note when it is approved', async (t) => {
  const db = await makeDatabase(t);
  await withClient(db.adminUrl, async (client) => {
    const list = async (view: string) =>
      (
        await client.query(
          `select regexp_replace(object, '^role ', '') as object, detail from ${view}
           where object ~ '^(role )?(shop|team)$' order by 1`,
        )
      ).rows;
    const found = () => list('audit.findings');
    await client.query('begin; create role shop login; create role team; grant team to shop');
    t.same(await found(), []);
    await client.query('grant postgres to team');
    t.same(await found(), [
      { object: 'shop', detail: 'member of postgres' },
      { object: 'team', detail: 'member of postgres' },
    ]);
    await client.query(
      'revoke postgres from team; create role giant bypassrls; grant giant, pg_write_all_data to shop',
    );
    t.same(await found(), [{ object: 'shop', detail: 'member of giant, member of pg_write_all_data' }]);
    await client.query(`select audit.approve('{shop}')`);
    t.same(await found(), []);
    t.same(await list('audit.notes'), [
      { object: 'shop', detail: 'member of giant, member of pg_write_all_data, approved' },
    ]);
    await client.query(
      `do $$ begin execute format('alter database %I owner to shop', current_database()); end $$`,
    );
    t.same(await found(), [{ object: 'shop', detail: 'owns the database' }]);
    await client.query('rollback');
  });
});

t.test('a context that the whole server presets is a finding in every session', async (t) => {
  const server = await startServer(t);
  await createDatabase(server, 'club');
  await deploy(server.url('club', 'club_migrator', server.password));
  const club = '11111111-1111-4111-8111-111111111111';
  const context = `select array(select coalesce(current_setting(setting, true), '') from audit.intended_accessors) as context`;
  const found = `select code, severity, object, detail from audit.findings`;
  /** The findings inside of another club, whose context they leave as it is. */
  const readWithin = async (client: pg.Client) => {
    await client.query(`begin; set local role club_api;
      select app.enter('22222222-2222-4222-8222-222222222222', 'anna', 'Member')`);
    const before = (await client.query(context)).rows;
    const { rows } = await client.query(found);
    t.same((await client.query(context)).rows, before);
    await client.query('rollback');
    return rows;
  };
  await withClient(server.url('club'), async (client) => {
    t.same(await readWithin(client), [], 'not what a transaction has entered');
    // PostgreSQL 15 knows the setting only in a session that has set it.
    await client.query(`set app.tenant_id = ''`);
    await client.query(`alter system set app.tenant_id = '${club}'`);
    await client.query('select pg_reload_conf()');
    const finding = {
      code: 'context_preset',
      severity: 'warning',
      object: 'setting of the server app.tenant_id',
      detail: `it is ${club}`,
    };
    await withClient(server.url('club', 'club_auditor', server.password), async (auditor) => {
      const rows = await until(
        async () => (await auditor.query(found)).rows,
        ({ length }) => length > 0,
      );
      t.same(rows, [finding]);
    });
    t.same(await readWithin(client), [finding]);
  });
});

t.test('what the whole server may lose is a note, although another role has its own setting', async (t) => {
  const server = await startServer(t);
  await createDatabase(server, 'club');
  await deploy(server.url('club', 'club_migrator', server.password));
  await withClient(server.url('club'), async (client) => {
    await client.query('create role batch; alter role batch set synchronous_commit = on');
    await client.query('alter system set synchronous_commit = off');
    await client.query('select pg_reload_conf()');
  });
  await withClient(server.url('club', 'club_auditor', server.password), async (auditor) => {
    const { rows } = await until(
      () => auditor.query(`select detail from audit.notes where object = 'synchronous_commit'`),
      ({ rowCount }) => rowCount === 1,
    );
    t.same(rows, [{ detail: 'it is off for the whole server' }]);
    t.same((await auditor.query('table audit.findings')).rows, []);
  });
});
