import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { deploy } from '../../src/deploy/deploy.js';
import { createDatabase } from '../../tools/development-database.js';
import { root } from '../../tools/root.js';
import { mutantsOf, tryAll } from '../campaigns/mutants/mutation.js';
import { extension } from '../campaigns/mutants/statements/server.js';
import { makeDatabase } from '../setup/database.js';
import { startServer } from '../setup/server.js';

/** The views of findings that audit.findings collects. */
const CHAPTERS = `select relation from audit.views where relation ~ '^audit\\.\\w+_findings$'`;

t.test('every check finds a weakening, and its SQL fixes it', async (t) => {
  const db = await makeDatabase(t);
  await withClient(db.adminUrl, async (client) => {
    const mutants = await mutantsOf(db);
    // The first of each check; the campaign runs all of them.
    await tryAll(
      t,
      client,
      Object.fromEntries(Object.entries(mutants).map(([code, [first]]) => [code, [first ?? '']])),
    );
  });
});

const onDatabase = (statement: string) =>
  `do $do$ begin execute format($$${statement}$$, current_database()); end $do$`;

/** Statements of a login, after what an administrator runs; each with the codes of its findings. */
interface Runs {
  login: string;
  preparedBy?: string;
  before16?: boolean;
  runs: [statement: string, ...codes: string[]][];
}

/**
 * What logins may run that a request could use, or that are neither a superuser nor a member of a role of the service.
 *
 * Before PostgreSQL 16 a login with CREATEROLE may also grant club_owner, to itself and to the service. That is critical.
 */
const lesserLogins: Runs[] = [
  {
    login: 'club_api',
    runs: [
      ['alter role club_api set search_path = public', 'schema_drift'],
      [`alter role club_api set local_preload_libraries = 'spy'`, 'schema_drift'],
      ['alter role club_api set row_security = off', 'schema_drift'],
      ['alter role club_api reset lock_timeout', 'schema_drift'],
      ['alter role club_api set quote_all_identifiers = on', 'schema_drift'],
      ['alter role club_api set standard_conforming_strings = off', 'schema_drift'],
      ['alter default privileges grant select on tables to public', 'default_privileges'],
      ['alter default privileges grant execute on functions to club_auditor', 'default_privileges'],
      ['select lo_create(4242)', 'large_object_shared'],
    ],
  },
  {
    login: 'club_api',
    preparedBy: `${onDatabase('grant create, temporary on database %I to club_api')}; grant create on schema public to club_api`,
    runs: [
      ['create temporary table tasks (id uuid)', 'temporary_object', 'role_owns_outside_schema'],
      ['create schema mine', 'role_owns_outside_schema'],
      ['create table public.tasks (id uuid)', 'object_outside_schema', 'role_owns_outside_schema'],
    ],
  },
  {
    login: 'dana',
    preparedBy: `create role dana; ${onDatabase('alter database %I owner to dana')}`,
    runs: [
      [onDatabase('alter database %I set search_path = public'), 'setting_preset'],
      [onDatabase('alter database %I set row_security = off'), 'setting_preset'],
      [onDatabase('grant temporary on database %I to public'), 'database_privilege'],
      [onDatabase('grant create on database %I to club_api'), 'database_privilege'],
      [onDatabase('grant connect on database %I to club_api with grant option'), 'hand_on_outside_schema'],
      ['grant create on schema public to public', 'schema_create_outside'],
      ['create schema reports'],
      ['grant create on schema reports to club_signup', 'schema_create_outside'],
      ['alter default privileges grant select on tables to club_api', 'default_privileges'],
    ],
  },
  {
    login: 'dana',
    preparedBy: 'create role dana; grant create on schema public to dana',
    runs: [
      ['create table public.copy (tenant_id uuid, title text)', 'object_outside_schema'],
      ['create table public.parts () inherits (public.copy)', 'object_outside_schema'],
      ['create policy open on public.copy using (true)'],
      [`create policy owner on public.copy to club_owner using (current_setting('app.role') = 'x')`],
      ['create materialized view public.counts as table public.copy', 'object_outside_schema'],
      ['create view public.everything as table public.copy', 'object_outside_schema'],
      [
        `create function public.yes(uuid, uuid) returns boolean language sql immutable as 'select true'`,
        'object_outside_schema',
      ],
      [
        `create function public.noisy() returns int language plpgsql as $$ begin raise 'no'; end $$`,
        'object_outside_schema',
      ],
      [
        'create operator public.= (leftarg = uuid, rightarg = uuid, function = public.yes)',
        'object_outside_schema',
      ],
      [
        `create default conversion public.latin for 'LATIN1' to 'UTF8' from iso8859_1_to_utf8`,
        'object_outside_schema',
      ],
      ['create domain public.id as uuid check (public.yes(value, value))'],
      ['alter table public.copy add check (public.yes(tenant_id, tenant_id))'],
    ],
  },
  {
    login: 'dana',
    preparedBy: 'create role dana createrole',
    runs: [['create role team'], ['grant team to club_api', 'role_belongs_elsewhere']],
  },
  {
    login: 'dana',
    preparedBy: 'create role dana createrole',
    before16: true,
    runs: [
      ['alter role club_api nologin', 'role_unusable'],
      ['alter role club_auditor createdb', 'role_creates_databases'],
      ['alter role club_migrator set search_path = public', 'schema_drift'],
    ],
  },
  {
    login: 'dana',
    preparedBy: 'create role dana; create role team; grant team to dana with admin option',
    runs: [
      ['grant team to club_api', 'role_belongs_elsewhere'],
      ['grant team to club_owner with admin option', 'role_belongs_elsewhere'],
    ],
  },
  {
    login: 'dana',
    preparedBy: 'create role dana; grant club_auditor to dana with admin option',
    runs: [['grant club_auditor to club_api', 'role_belongs_elsewhere']],
  },
  {
    login: 'shop',
    preparedBy: `create role shop; ${onDatabase('grant create, temporary on database %I to shop')}`,
    runs: [
      ['create schema shop'],
      ['create table shop.orders (tenant_id uuid)'],
      ['create view shop.everything as table shop.orders'],
      [
        `create function shop.yes(uuid) returns boolean language sql immutable security definer as 'select true'`,
      ],
      ['create temporary table orders (id uuid)', 'temporary_object'],
      ['grant usage on schema shop to club_api', 'schema_shared'],
      ['alter default privileges grant select on tables to club_api', 'default_privileges'],
    ],
  },
];

t.test('an extension with operators for indexes is unknown, and no critical finding', async (t) => {
  const db = await makeDatabase(t);
  await withClient(db.adminUrl, async (client) => {
    // As CREATE EXTENSION leaves it: the operators of a family belong to the extension through the family only.
    await client.query(`begin;
      insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      values (424242, 'btree_gist', 10, 'public'::regnamespace, true, '1.0');
      create operator family public.gist_uuid_ops using btree;
      alter operator family public.gist_uuid_ops using btree add operator 3 = (uuid, uuid);
      insert into pg_depend select 'pg_opfamily'::regclass, oid, 0, 'pg_extension'::regclass, 424242, 0, 'e'
      from pg_opfamily where opfname = 'gist_uuid_ops'`);
    const { rows } = await client.query('select code from audit.findings');
    await client.query('rollback');
    t.same(rows, [{ code: 'extension_unknown' }]);
  });
});

t.test('how a session prints names and texts changes no finding and no fact', async (t) => {
  const db = await makeDatabase(t);
  await withClient(db.url, async (client) => {
    const read = async () => {
      const { rows: findings } = await client.query('select code, object, fix from audit.findings');
      const { rows: facts } = await client.query('select audit.fingerprint()');
      return { findings, facts };
    };
    const usual = await read();
    t.same(usual.findings, []);
    await client.query('set quote_all_identifiers = on; set standard_conforming_strings = off');
    t.same(await read(), usual);
  });
});

t.test('no login without the rights of a role of the service causes a critical finding', async (t) => {
  const db = await makeDatabase(t);
  await withClient(db.adminUrl, async (client) => {
    const codes = async () =>
      (await client.query('select code, severity, object, detail from audit.findings order by code')).rows;
    const { rows: versions } = await client.query(
      `select current_setting('server_version_num')::int < 160000 as "isBefore16"`,
    );
    const possible = lesserLogins.filter(({ before16 }) => !before16 || versions[0].isBefore16);
    for (const { login, preparedBy = '', runs } of possible) {
      await client.query(`begin; ${preparedBy}`);
      const prepared = await codes();
      await client.query(`set local session authorization ${login}`);
      for (const [statement] of runs) {
        await client.query(statement);
      }
      await client.query('reset session authorization');
      const found = await codes();
      t.same(
        found.filter(({ severity }) => severity === 'critical'),
        [],
        `${login}: ${preparedBy}`,
      );
      t.same(
        found.map(({ code }) => code),
        [...prepared.map(({ code }) => code), ...runs.flatMap(([, ...expected]) => expected)].sort(),
      );
      await client.query('rollback');
    }
  });
});

t.test('sql/audit/README.md lists every check under its severity', async (t) => {
  const db = await makeDatabase(t);
  const page = readFileSync(join(root, 'sql/audit/README.md'), 'utf8');
  const [, critical = '', warning = ''] =
    /^## The checks\n.*?^Critical:\n(.*?)^Warnings:\n(.*?)^## /ms.exec(page) ?? [];
  for (const [severity, list] of Object.entries({ critical, warning })) {
    const listed = [...list.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code);
    const checks = await db.queryAsAdmin('select code from audit.checks where severity = $1', [severity]);
    t.same(listed.sort(), checks.map(({ code }) => code).sort(), severity);
  }
});

t.test('one change gives one finding', async (t) => {
  const db = await makeDatabase(t);
  await withClient(db.adminUrl, async (client) => {
    for (const change of [
      'create policy open on app.tasks for select to club_api using (true)',
      'alter table app.tasks disable row level security',
      'create role stranger; grant select on app.tasks to stranger',
      'grant truncate on app.tasks to club_api',
      'alter function app.sign_up(uuid) set row_security = off',
      'alter role club_api set search_path = public',
      'alter role club_signup login',
      'create role mallory; grant club_migrator to mallory',
      'create role dba; create role alice in role dba; grant club_migrator to dba',
      'drop index app.members_by_display_name',
    ]) {
      await client.query(`begin; ${change}`);
      t.equal((await client.query('table audit.findings')).rowCount, 1, change);
      await client.query('rollback');
    }
  });
});

t.test(
  'a group with a role of the service is one finding, which leaves its members in the group',
  async (t) => {
    const db = await makeDatabase(t);
    await withClient(db.adminUrl, async (client) => {
      await client.query(`begin; create role dba; create role alice in role dba; create role ben in role alice;
      grant club_migrator to dba; grant club_api to ben`);
      const { rows } = await client.query('select code, object, detail, fix from audit.findings');
      t.match(rows, [
        {
          code: 'role_lent',
          object: 'role ben',
          detail: 'it is a member of club_api',
          fix: /^revoke club_api from ben/,
        },
        {
          code: 'role_lent',
          object: 'role dba',
          detail:
            /^it is a member of club_migrator, and so of club_calendar, .*club_owner.*; its members are alice, ben$/,
          fix: /^revoke club_migrator from dba/,
        },
      ]);
      await client.query('rollback');
    });
  },
);

t.test('an extension that all roles may execute is one finding that lists them', async (t) => {
  const db = await makeDatabase(t);
  await withClient(db.adminUrl, async (client) => {
    await client.query(`begin; ${extension('dblink')}; create function public.remote() returns int language sql return 1;
      insert into pg_depend values ('pg_proc'::regclass, 'public.remote()'::regprocedure, 0, 'pg_extension'::regclass, 424242, 0, 'e')`);
    const { rows } = await client.query(
      `select object, detail from audit.findings where code = 'extension_reachable'`,
    );
    t.match(rows, [{ object: 'extension dblink', detail: /^club_api, .*, club_signup may execute it$/ }]);
    await client.query('rollback');
  });
});

t.test('PostgreSQL does not compile the plan of the findings, which would take a minute', async (t) => {
  const db = await makeDatabase(t);
  const chapters = await db.queryAsAdmin(CHAPTERS);
  t.equal(chapters.length, 5);
  for (const { relation } of chapters) {
    const [plan] = await db.queryAsAdmin(`explain (format json) table ${relation}`);
    const cost = plan?.['QUERY PLAN'][0].Plan['Total Cost'];
    t.ok(cost < 100_000, `the cost of ${relation} is ${cost}; the default of jit_above_cost is 100,000`);
  }
});

t.test('the findings are the findings of every chapter', async (t) => {
  const db = await makeDatabase(t);
  const chapters = await db.queryAsAdmin(CHAPTERS);
  for (const { relation } of chapters) {
    const planted = `select '${relation}' as code, null::text as object, null::text as detail, null::text as fix, null::name as role`;
    await db.queryAsAdmin(`drop view ${relation}; create view ${relation} as ${planted}`);
  }
  const found = await db.queryAsAdmin('select code from audit.findings');
  t.same(found.map(({ code }) => code).sort(), chapters.map(({ relation }) => relation).sort());
});

t.test('a chapter that raises an error is a critical finding, and hides no other chapter', async (t) => {
  const db = await makeDatabase(t);
  const plant = (chapter: string, object: string) =>
    `drop view audit.${chapter}_findings; create view audit.${chapter}_findings as
     select 'planted' as code, (${object})::text as object, 'x' as detail, 'y' as fix from pg_class limit 1`;
  await db.queryAsAdmin(plant('core', `1 / (relpages - relpages)`));
  await db.queryAsAdmin(
    `${plant('drift', `'drift'`)}; grant select on audit.core_findings, audit.drift_findings to club_auditor`,
  );
  await withClient(db.adminUrl, async (client) => {
    const read = async () =>
      (await client.query('select code, severity, object, detail, fix from audit.findings')).rows;
    await client.query(
      'set session authorization club_auditor; begin isolation level repeatable read, read only',
    );
    t.match(await read(), [
      {
        code: 'audit_failed',
        severity: 'critical',
        object: 'view audit.core_findings',
        detail: '22012: division by zero',
        fix: /^-- .*table audit\.core_findings$/,
      },
      { code: 'planted', object: 'drift' },
    ]);
    await client.query('rollback');
    t.same(
      await client
        .query(`select from audit.checks where code = 'audit_failed'`)
        .then(({ rows }) => rows.length),
      1,
    );
  });
});

t.test(
  'a timeout, a cancelled statement or a dropped object ends the audit and is not a finding',
  async (t) => {
    const db = await makeDatabase(t);
    await withClient(db.adminUrl, async (client) => {
      const fails = async (setting: string, call: string, code: string) => {
        await client.query('begin');
        await client.query(`drop view audit.core_findings; create view audit.core_findings as
        select 'planted' as code, ${call}::text as object, 'x' as detail, 'y' as fix`);
        await client.query(`set local ${setting}`);
        await t.rejects(client.query('table audit.findings'), { code }, setting);
        await client.query('rollback');
      };
      await fails(`statement_timeout = '50ms'`, 'pg_sleep(10)', '57014');
      await db.queryAsAdmin('select pg_advisory_lock(1)');
      await fails(`lock_timeout = '50ms'`, 'pg_advisory_xact_lock(1)', '55P03');
      await db.queryAsAdmin(`create function public.gone() returns text language plpgsql as
      $$ begin raise 'cache lookup failed' using errcode = 'XX000'; end $$`);
      await fails(`lock_timeout = '50ms'`, 'public.gone()', 'XX000');
    });
  },
);

t.test(
  'a function of PostgreSQL that is LEAKPROOF by hand is a finding, even if it was granted',
  async (t) => {
    const db = await makeDatabase(t);
    const made = `select oid::regprocedure::text as object from pg_proc
    where pronamespace = 'pg_catalog'::regnamespace and prolang = 12 and prokind = 'f' and not proleakproof order by 1`;
    const found = async (client: pg.Client, code: string) =>
      (await client.query(`select object from audit.findings where code ~ $1`, [code])).rows;
    await withClient(db.adminUrl, async (client) => {
      await client.query('begin');
      const { rows } = await client.query(made);
      t.ok(rows.length > 2_000);
      for (const object of ['set_config(text,text,boolean)', 'to_date(text,text)']) {
        await client.query(
          `alter function ${object} leakproof; grant execute on function ${object} to pg_monitor`,
        );
        t.same(await found(client, 'built_in_replaced'), [{ object: `function ${object}` }]);
        await client.query(
          `alter function ${object} not leakproof; revoke execute on function ${object} from pg_monitor`,
        );
      }
      await client.query(rows.map(({ object }) => `alter function ${object} leakproof`).join('; '));
      t.equal((await found(client, '^built_in_')).length, rows.length, 'each of them');
      await client.query('rollback; begin; alter function texteq(text, text) security definer');
      t.same(await found(client, 'built_in_replaced'), [{ object: 'function texteq(text,text)' }]);
      await client.query('rollback');
    });
  },
);

t.test('a deleted row that a migration or a deploy wrote is a finding', async (t) => {
  const db = await makeDatabase(t);
  const tables = await db.queryAsAdmin(`select distinct relation from audit.reference_rows
    union select 'deploy.facts'`);
  await withClient(db.adminUrl, async (client) => {
    for (const { relation } of tables) {
      // Without the checks of foreign keys.
      await client.query('begin; set local session_replication_role = replica');
      const { rowCount } = await client.query(
        `delete from ${relation} where ctid = (select max(ctid) from ${relation})`,
      );
      t.equal(rowCount, 1, `${relation} has rows`);
      await client.query('set local session_replication_role = origin');
      const { rows } = await client.query(`select distinct code from audit.findings where code ~ 'drift'`);
      t.equal(rows.length, 1, relation);
      await client.query('rollback');
    }
  });
});

t.test('the audit queries the objects of other applications no more often when there are many', async (t) => {
  const db = await makeDatabase(t);
  await withClient(db.adminUrl, async (client) => {
    await client.query(`begin; set local track_functions = 'all'; create role shop`);
    let before = 0;
    const countCallsWith = async (schema: string, objects: number) => {
      await client.query(`create schema ${schema} authorization shop; set local role shop;
        do $$ begin for i in 1..${objects} loop
          execute format('create table ${schema}.t%s (); create view ${schema}.v%1$s as table ${schema}.t%1$s', i);
          execute format('create function ${schema}.f%s() returns int language sql return 1', i);
        end loop; end $$; reset role`);
      t.same((await client.query('table audit.findings')).rows, []);
      const { rows } = await client.query(
        `select pg_stat_get_xact_function_calls('audit.elsewhere()'::regprocedure)::int as calls`,
      );
      const calls = rows[0].calls - before;
      before = rows[0].calls;
      return calls;
    };
    const calls = await countCallsWith('few', 1);
    t.ok(calls > 0, `${calls} calls`);
    t.equal(await countCallsWith('many', 50), calls);
    await client.query('rollback');
  });
});

t.test('the fixes of all findings together drop no table and no column', async (t) => {
  const db = await makeDatabase(t);
  const changes = [
    `do $$ declare policy name; begin
       for policy in select polname from pg_policy where polrelid = 'app.tasks'::regclass and polpermissive
       loop execute format('drop policy %I on app.tasks', policy); end loop;
     end $$`,
    `${extension('dblink')}; create type public.mood as enum ('good'); create table public.diary (mood public.mood);
     insert into pg_depend values ('pg_type'::regclass, 'public.mood'::regtype, 0, 'pg_extension'::regclass, 424242, 0, 'e')`,
    'alter table app.tasks set schema public',
    'alter table app.tasks set schema deploy',
    'alter table app.tasks rename to jobs',
    'alter table app.tasks rename column title to name',
    'create table app.notes (like app.tasks)',
    'create table public.backup as table app.tasks',
    'create table app.old_tasks () inherits (app.tasks)',
  ];
  await withClient(db.adminUrl, async (client) => {
    for (const change of changes) {
      await client.query('begin');
      await client.query(change);
      const { rows: tables } = await client.query(
        `select oid from pg_class where relkind = 'r' and relnamespace <> all (array['pg_catalog', 'information_schema']::regnamespace[])`,
      );
      const droppedColumns = async () => {
        const { rows } = await client.query(
          `select attrelid, attnum from pg_attribute where attisdropped and attrelid = any ($1) order by 1, 2`,
          [tables.map(({ oid }) => oid)],
        );
        return rows;
      };
      // Migrations have dropped some.
      const dropped = await droppedColumns();
      const { rows: findings } = await client.query('select fix from audit.findings');
      t.ok(findings.length > 0, change);
      for (const { fix } of findings) {
        await client.query('savepoint fix');
        await client.query(fix ?? '').catch(() => client.query('rollback to fix'));
      }
      const { rows: left } = await client.query('select oid from pg_class where oid = any ($1)', [
        tables.map(({ oid }) => oid),
      ]);
      t.equal(left.length, tables.length, `${change}: no table is dropped`);
      t.same(await droppedColumns(), dropped, `${change}: no column is dropped`);
      await client.query('rollback');
    }
    await client.query('begin; alter table app.tasks set schema public');
    const { rows } = await client.query(
      `select fix from audit.findings where code = 'object_outside_schema'`,
    );
    t.same(rows, [{ fix: 'alter table public.tasks set schema app' }]);
    await client.query(rows[0].fix);
    t.same((await client.query('table audit.findings')).rows, []);
    await client.query('rollback');
  });
});

t.test('the fixes of all findings lead back to the last deploy', async (t) => {
  const db = await makeDatabase(t);
  const changes = [
    'alter function app.sign_up(uuid) owner to postgres',
    'alter function app.sign_up(uuid) owner to club_owner',
    'grant select on app.tasks to club_api with grant option',
    'grant update (title) on app.tasks to club_api with grant option',
    `grant execute on function app.sign_up(uuid) to club_api with grant option; set local role club_api;
     grant execute on function app.sign_up(uuid) to club_recorder; reset role`,
  ];
  await withClient(db.adminUrl, async (client) => {
    for (const change of changes) {
      await client.query(`begin; ${change}`);
      const { rows: findings } = await client.query('select fix from audit.findings');
      t.ok(findings.length > 0, change);
      for (const { fix } of findings) {
        await client.query(fix);
      }
      t.same((await client.query('table audit.findings')).rows, [], change);
      await client.query('rollback');
    }
  });
});

t.test('the fixes of all findings and a deploy lead back to the last deploy', async (t) => {
  // On its own server: the attributes of a role are of the whole server, where other tests run.
  const server = await startServer(t);
  await createDatabase(server, 'club');
  const migrationUrl = server.url('club', 'club_migrator', server.password);
  await deploy(migrationUrl);
  const changes = [
    'drop policy tasks_read on app.tasks',
    'drop policy tasks_floor on app.tasks',
    'drop policy clubs_floor on app.clubs; drop policy events_floor on app.events',
    'revoke select on app.tasks from club_api',
    'revoke insert (title) on app.tasks from club_api',
    'alter role club_api bypassrls',
    'alter role club_recorder superuser',
    'alter table app.tasks drop column description cascade',
    'alter table app.tasks disable row level security',
    'alter policy tasks_read on app.tasks to public',
    'grant all on app.tasks to public',
    'drop trigger tasks_guard on app.tasks',
    'drop function app.assign_sign_up',
  ];
  await withClient(server.url('club'), async (client) => {
    const fixesOf = async () => {
      const { rows } = await client.query('select fix from audit.findings');
      return rows.map(({ fix }): string => fix);
    };
    for (const change of changes) {
      await client.query(change);
      let fixes = await fixesOf();
      t.ok(fixes.length > 0, change);
      for (let round = 0; round < 3 && fixes.length > 0; round += 1) {
        for (const fix of fixes) {
          await client.query(fix).catch(() => {});
        }
        await deploy(migrationUrl);
        fixes = await fixesOf();
      }
      t.same(fixes, [], change);
    }
  });
});

t.test('the auditor can read the findings, and no row of a club', async (t) => {
  const db = await makeDatabase(t);
  await db.makeClub();
  await db.queryAsAdmin('create policy open on app.tasks using (true)');
  await withClient(db.adminUrl, async (client) => {
    await client.query(`set session authorization club_auditor; set search_path = ''`);
    const { rows } = await client.query('select code, severity, fix from audit.findings');
    t.same(rows, [
      { code: 'isolation_drift', severity: 'critical', fix: '-- Deploy again: node dist/migrate.js' },
    ]);
    await t.rejects(client.query('select audit.assert_clean()'), {
      code: 'AU001',
      detail: /isolation_drift policy app\.tasks\.open/,
    });
    const { rows: tables } = await client.query('select relation from audit.tables where schema = $1', [
      'app',
    ]);
    for (const { relation } of tables) {
      await t.rejects(client.query(`select from ${relation}`), { code: '42501' }, relation);
    }
    await t.rejects(client.query('delete from deploy.facts'), { code: '42501' });
    await t.rejects(client.query('select audit.record_facts()'), { code: '42501' });
  });
  await db.queryAsAdmin('drop policy open on app.tasks');
  await db.queryAsAdmin('select audit.assert_clean()');
});

t.test('every view and function of the audit has a comment, and every check a reason', async (t) => {
  const db = await makeDatabase(t);
  const silent = await db.queryAsAdmin(`
    select relation as name from audit.views where schema = 'audit' and coalesce(char_length(comment), 0) < 15
    union all
    select function from audit.functions where schema = 'audit' and coalesce(char_length(comment), 0) < 15`);
  t.same(silent, []);
  t.same(
    await db.queryAsAdmin('select code from audit.checks group by code having count(*) > 1'),
    [],
    'a code names one check',
  );
  t.same(
    await db.queryAsAdmin(
      `select code from audit.checks where severity not in ('critical', 'warning') or char_length(why) < 15`,
    ),
    [],
  );
});

t.test('the fingerprint is the hash of the printed facts', async (t) => {
  const db = await makeDatabase(t);
  const fingerprint = async () =>
    (await db.queryAsAdmin('select audit.fingerprint() as fingerprint'))[0]?.fingerprint;
  const [printed] = await db.queryAsAdmin(
    `select encode(sha256(convert_to(string_agg(line || E'\\n', ''), 'UTF8')), 'hex') as fingerprint from audit.snapshot`,
  );
  const before = await fingerprint();
  t.match(before, /^[0-9a-f]{64}$/);
  t.equal(before, printed?.fingerprint);
  await db.queryAsAdmin('grant delete on app.members to club_api');
  t.not(await fingerprint(), before);
});
