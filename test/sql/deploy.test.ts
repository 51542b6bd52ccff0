import t, { type Test } from 'tap';
import { explain } from '../../src/database/errors.js';
import { withClient } from '../../src/deploy/client.js';
import { deploy } from '../../src/deploy/deploy.js';
import { DEPLOY_LOCK, lockDeploys, whenLocksAreFree } from '../../src/deploy/locks.js';
import { onlineStatements } from '../../src/deploy/migrations.js';
import { readRelease, type SqlFile } from '../../src/deploy/release.js';
import { createDatabase } from '../../tools/development-database.js';
import { makeDatabase, type TestDatabase, testCluster } from '../setup/database.js';
import { startProxy } from '../setup/proxy.js';
import { startServer } from '../setup/server.js';
import { until } from '../setup/wait.js';

t.jobs = 4;

const release = readRelease();

/** Every fact of the database on which isolation depends, one per line. */
async function readFacts(db: TestDatabase): Promise<string[]> {
  return (await db.queryAsAdmin<{ line: string }>('select line from audit.snapshot')).map(({ line }) => line);
}

/** The facts of the template, which was deployed once. */
const deployed = await readFacts(await makeDatabase(t));

/** The facts that only one of the two has. */
function difference(some: string[], others: string[]): string[] {
  const [one, other] = [new Set(some), new Set(others)];
  return [...some.filter((fact) => !other.has(fact)), ...others.filter((fact) => !one.has(fact))];
}

t.test('a deploy creates the database from nothing, always the same', async (t) => {
  const db = await makeDatabase(t, { empty: true });
  const names = release.migrations.map(({ name }) => name);
  t.same(await deploy(db.migrationUrl), {
    migrations: names,
    applied: true,
    approved: undefined,
    warnings: [],
  });
  t.same(await db.queryAsAdmin('select name, sha256 from deploy.migration_files order by name'), [
    ...release.migrations.map(({ name, sha256 }) => ({ name, sha256 })),
  ]);
  const facts = await readFacts(db);
  t.ok(facts.length > 100, 'the snapshot contains the database');
  t.same(facts, deployed);
});

t.test('a deploy refuses a database in which restrictive policies do not restrict', async (t) => {
  const db = await makeDatabase(t, { empty: true });
  // As the workers of Citus do.
  await db.queryAsAdmin(`
    create function public.loosen() returns event_trigger language plpgsql as $$ begin
      if exists (select from pg_policy where polname = 'floor' and not polpermissive) then
        drop policy floor on deploy.restriction;
        create policy floor on deploy.restriction using (club = 1);
      end if;
    end $$;
    create event trigger loosen on ddl_command_end when tag in ('CREATE POLICY') execute function public.loosen()`);
  await t.rejects(deploy(db.migrationUrl), {
    name: 'DeployError',
    message: /^A restrictive policy does not restrict in this database/,
  });
  t.same(await db.queryAsAdmin(`select from pg_class where relnamespace = 'deploy'::regnamespace`), []);
  await db.queryAsAdmin('drop event trigger loosen');
  t.match(await deploy(db.migrationUrl), { applied: true });
});

t.test(
  'a deploy as a superuser, or where others may create in the schema public, is a warning',
  async (t) => {
    const db = await makeDatabase(t);
    t.same((await deploy(db.migrationUrl)).warnings, []);
    await db.queryAsAdmin('create role club_other; grant create on schema public to club_other');
    t.teardown(() => db.queryAsAdmin('drop owned by club_other; drop role club_other'));
    t.match((await deploy(db.adminUrl)).warnings, [
      /^\w+ is a superuser, .+ log in as club_migrator\.$/,
      /^club_other may create objects in the schema public/,
    ]);
  },
);

t.test('a second deploy of the same release runs no migration and changes nothing', async (t) => {
  const db = await makeDatabase(t);
  await db.makeClub();
  const facts = await readFacts(db);
  const clubs = await db.queryAsAdmin('table app.clubs');
  t.match(await deploy(db.migrationUrl), { migrations: [], applied: false }, 'nothing is locked');
  t.same(await readFacts(db), facts);
  await db.queryAsAdmin('drop policy tasks_delete on app.tasks');
  t.match(await deploy(db.migrationUrl), { migrations: [], applied: true }, 'the manual change is undone');
  t.same(await readFacts(db), facts);
  t.same(await db.queryAsAdmin('table app.clubs'), clubs);
  t.match(await db.queryAsAdmin('select fingerprint from deploy.releases'), [
    { fingerprint: release.fingerprint },
  ]);
});

t.test('of concurrent deploys one applies the release, and the others have nothing to do', async (t) => {
  const db = await makeDatabase(t, { empty: true });
  const results = await Promise.all([1, 2, 3].map(() => deploy(db.migrationUrl)));
  t.equal(results.filter(({ applied }) => applied).length, 1);
  t.same(results.flatMap(({ migrations }) => migrations).sort(), [
    ...release.migrations.map(({ name }) => name),
  ]);
  t.same(await readFacts(db), deployed);
});

t.test('the next deploy undoes manual changes of what the chapters define', async (t) => {
  const changes = {
    'a policy more': 'create policy open on app.tasks using (true) with check (true)',
    'a policy less': 'drop policy tasks_floor on app.tasks',
    'a policy loosened': 'alter policy shifts_floor on app.shifts using (true) with check (true)',
    'a grant on a table': 'grant select on app.members to public',
    'a grant on a column': 'grant update (signup_count) on app.shifts to club_api',
    'a grant on a function': 'grant execute on function app.provision_club to club_api',
    'a grant on a schema': 'grant create on schema app to club_api',
    'a grant on a sequence': 'grant usage on sequence deploy.migrations_id_seq to club_api',
    'a grant to pass on': 'grant select on app.clubs to club_api with grant option',
    'a grant that its holder passed on': `grant select on app.shifts to club_operator with grant option;
      set role club_operator; grant select on app.shifts to club_directory, club_signup; reset role`,
    'a grant on a column that its holder passed on': `grant update (title) on app.tasks to club_operator with grant option;
      set role club_operator; grant update (title) on app.tasks to club_signup; reset role`,
    'a grant on a function that its holder passed on': `grant execute on function app.new_id() to club_signup with grant option;
      set role club_signup; grant execute on function app.new_id() to club_directory; reset role`,
    'a grant on a type': 'grant usage on type app.club_role to club_auditor',
    'a grant on a type that its holder passed on': `grant usage on type app.club_role to club_operator with grant option;
      set role club_operator; grant usage on type app.club_role to club_signup; reset role`,
    'a grant less': 'revoke select on app.tasks from club_api',
    'a function': `create function app.peek() returns setof app.tasks language sql security definer as 'table app.tasks'`,
    'a function that is granted': `create function app.peer() returns int language sql as 'select 1';
      grant execute on function app.peer() to club_api`,
    'a function of the same name': `create function app.sign_up(text) returns int language sql as 'select 1'`,
    'a function replaced': `create or replace function app.tenant_id() returns uuid language sql as 'select null::uuid'`,
    'a setting of a function': 'alter function app.sign_up(uuid) set row_security = off',
    'a view': 'create view app.everything as table app.tasks',
    'a view that is granted':
      'create view app.everybody as table app.members; grant select on app.everybody to club_api',
    'a view on a view and a function': 'create view app.derived as select *, app.peer() from app.everything',
    'a trigger more':
      'create trigger stray before update on app.tasks for each row execute function app.guard_task()',
    'a trigger less': 'drop trigger tasks_guard on app.tasks',
    'a trigger disabled': 'alter table app.shifts disable trigger shifts_stamp',
    'FORCE lifted': 'alter table app.tasks no force row level security',
    'row-level security off': 'alter table app.members disable row level security',
    'a default less': 'alter table app.tasks alter column tenant_id drop default',
  };
  const db = await makeDatabase(t);
  const facts = await readFacts(db);
  for (const [author, url] of Object.entries({ 'the deploy': db.migrationUrl, 'a superuser': db.adminUrl })) {
    const changed: Record<string, string[]> = {};
    let before = facts;
    for (const [change, statement] of Object.entries(changes)) {
      await withClient(url, (client) => client.query(statement));
      const after = await readFacts(db);
      changed[change] = difference(before, after);
      before = after;
    }
    const found = await db.queryAsAdmin('select object from audit.findings');
    for (const [change, lines] of Object.entries(changed)) {
      t.ok(lines.length > 0, `${change}, by the login of ${author}: the snapshot shows it`);
      t.same(
        lines.filter((line) => !found.some(({ object }) => line.startsWith(`${object}: `))),
        [],
        `${change}, by the login of ${author}: the audit names it`,
      );
    }
    await deploy(db.migrationUrl);
    t.same(await readFacts(db), facts, `the change by the login of ${author} is undone`);
    t.same(await db.queryAsAdmin('table audit.findings'), [], 'and the audit has no finding');
  }
});

t.test('a chapter that fails changes nothing, and the error contains its name', async (t) => {
  const db = await makeDatabase(t);
  const facts = await readFacts(db);
  const broken = { name: '70_broken', text: 'drop policy tasks_read on app.tasks; select 1 / 0', sha256: '' };
  const newer = { ...release, chapters: [...release.chapters, broken], fingerprint: 'newer' };
  await t.rejects(deploy(db.migrationUrl, newer), {
    message:
      /^The deploy failed, and its last step was rolled back: 70_broken: division by zero \(SQLSTATE 22012\)\.$/,
  });
  t.same(await readFacts(db), facts);
  t.same(await db.queryAsAdmin('select fingerprint from deploy.releases'), [
    { fingerprint: release.fingerprint },
  ]);
});

t.test('a migration may change a column or a table that the audit reads', async (t) => {
  const db = await makeDatabase(t);
  const text = `alter table deploy.chapters alter column sha256 type varchar(64);
    drop table app.task_transitions;
    create table app.task_transitions (from_state text, to_state text, performer text, primary key (from_state, to_state))`;
  const migrations = [...release.migrations, { name: '9999_audited', text, sha256: 'of this text' }];
  await deploy(db.migrationUrl, { ...release, migrations, fingerprint: 'next' });
  const changed = await db.queryAsAdmin(
    `select object from audit.facts where fact in ('character varying(64)', 'PRIMARY KEY (from_state, to_state)')`,
  );
  t.same(changed.map(({ object }) => object).sort(), [
    'app.task_transitions.task_transitions_pkey',
    'deploy.chapters.sha256',
  ]);
  t.same(await db.queryAsAdmin(`select from audit.findings where code ~ 'drift'`), []);
});

t.test('a deploy refuses an unknown migration history with one sentence, and changes nothing', async (t) => {
  const db = await makeDatabase(t);
  const [first, ...others] = release.migrations as [SqlFile, ...SqlFile[]];
  const late = { name: `${first.name}_late`, text: 'select 1', sha256: 'of late' };
  const facts = await readFacts(db);
  const releases = {
    'was edited after it ran': [{ ...first, sha256: 'of other text' }, ...others],
    'newer release was deployed': release.migrations.slice(0, -1),
    [`ran: rename sql/migrations/${late.name}.sql`]: [first, late, ...others],
  };
  for (const [reason, migrations] of Object.entries(releases)) {
    const other = { ...release, chapters: [], migrations, fingerprint: 'other' };
    await t.rejects(deploy(db.migrationUrl, other), {
      name: 'DeployError',
      message: new RegExp(`${reason}.*\\.$`),
    });
  }
  t.same(await readFacts(db), facts);
  t.same(await db.queryAsAdmin('select fingerprint from deploy.releases'), [
    { fingerprint: release.fingerprint },
  ]);
});

t.test(
  'a login that may not become the owner deploys nothing, and the error contains the login',
  async (t) => {
    const db = await makeDatabase(t, { empty: true });
    await t.rejects(deploy(db.url), {
      name: 'DeployError',
      message: `The login ${testCluster().api.user} may not deploy: MIGRATION_DATABASE_URL must log in as club_migrator.`,
    });
    t.same(await db.queryAsAdmin(`select to_regnamespace('deploy') as made`), [{ made: null }]);
  },
);

/** A separate server, because roles belong to the server; with its findings as `code object: detail`. */
async function startDeployed(t: Test) {
  const server = await startServer(t);
  await createDatabase(server, 'club');
  const url = server.url('club', 'club_migrator', server.password);
  await deploy(url);
  const query = (sql: string) =>
    withClient(server.url('club'), async (admin) => (await admin.query(sql)).rows);
  const findings = async () =>
    (await query('table audit.findings')).map(
      ({ severity, code, object, detail }) => `${severity} ${code} ${object}: ${detail}`,
    );
  const beyond = (role: string, powers: string) =>
    `warning beyond_row_level_security role ${role}: ${powers}`;
  return { url, query, findings, beyond };
}

t.test('only a deploy with APPROVE approves a role, with the powers that it has then', async (t) => {
  const { url, query, findings, beyond } = await startDeployed(t);
  await query('create role anna superuser; create role backup bypassrls; create role carl');
  const anna = beyond('anna', 'superuser');
  await deploy(url);
  t.same(await findings(), [anna, beyond('backup', 'BYPASSRLS')], 'not a deploy without it');
  t.match(await deploy(url, release, ['anna', 'backup', 'carl']), {
    approved: [
      { role: 'anna', approved: ['superuser'] },
      { role: 'backup', approved: ['BYPASSRLS'] },
      { role: 'carl', approved: [] },
    ],
  });
  t.same(await findings(), []);
  t.match(await query(`select detail from audit.notes where object = 'anna'`), [
    { detail: 'superuser, approved' },
  ]);

  await query('alter role backup replication');
  t.match(await deploy(url), { approved: undefined });
  t.same(await findings(), [beyond('backup', 'REPLICATION')], 'a further power is a finding again');
  await t.rejects(deploy(url, release, ['backup', 'club_api', 'pg_monitor']), {
    name: 'DeployError',
    message:
      "APPROVE takes roles that are neither the service's nor PostgreSQL's own, not club_api, pg_monitor.",
  });
  await t.rejects(deploy(url, release, ['nora', 'olga']), {
    name: 'DeployError',
    message: 'The server has no role nora, olga of APPROVE. To remove all approvals set APPROVE=none.',
  });
  t.same(await findings(), [beyond('backup', 'REPLICATION')], 'which changes nothing');
  t.match(await deploy(url, release, ['nora', 'anna']), {
    approved: [{ role: 'anna', approved: ['superuser'] }],
    warnings: ['The server has no role nora to approve.'],
  });
  t.same(await findings(), [beyond('backup', 'BYPASSRLS, REPLICATION')], 'the list is replaced');
  t.match(await deploy(url, release, []), { approved: [] });
  t.same(await findings(), [anna, beyond('backup', 'BYPASSRLS, REPLICATION')]);
});

t.test(
  'APPROVE approves what the role owns outside of the service at that moment, and nothing of the service',
  async (t) => {
    const { url, query, findings } = await startDeployed(t);
    await query(`create role host createrole bypassrls; create schema auth authorization host; create table auth.users (id int);
    alter table auth.users owner to host; grant host to club_migrator; revoke host from club_migrator`);
    const users = 'warning object_outside_schema table auth.users: it is in the schema auth';
    t.match(await findings(), [/^warning beyond_row_level_security role host: /, users]);
    await deploy(url, release, ['host']);
    t.same(await findings(), []);
    t.match(await query(`select detail from audit.notes where (topic, object) = ('approved', 'host')`), [
      { detail: 'object_outside_schema table auth.users: it is in the schema auth' },
    ]);
    await query('create table auth.later (id int); alter table auth.later owner to host');
    await query('grant select on app.tasks to host; grant club_owner to host');
    await deploy(url);
    t.same(await findings(), [
      'warning object_outside_schema table auth.later: it is in the schema auth',
      'warning role_lent role host: it is a member of club_owner',
    ]);
    await query('grant select on app.tasks to host');
    await deploy(url, release, ['host']);
    await query('grant select on app.tasks to host');
    t.match(
      (await findings()).join(),
      /critical granted_to_stranger grant select on table app\.tasks to host/,
    );
    t.match((await findings()).join(), /warning role_lent role host/);
  },
);

t.test('a deploy restores a floor whose loss was accepted', async (t) => {
  const { url, query, findings } = await startDeployed(t);
  await query('drop policy tasks_floor on app.tasks; select audit.record_facts()');
  t.match(await findings(), [/^critical floor_missing table app\.tasks: no floor applies to club_api/]);
  t.match(await deploy(url), { applied: true });
  t.same(await findings(), []);
});

t.test('every table, policy, trigger and function has a COMMENT with its purpose', async (t) => {
  const db = await makeDatabase(t);
  const silent = await db.queryAsAdmin(`
    with ours as (select unnest(array['app', 'deploy']::regnamespace[])::oid as id),
    relation as (select * from pg_class where relnamespace in (select id from ours)),
    thing (name, comment) as (
      select id::regnamespace::text, obj_description(id, 'pg_namespace') from ours
      union all
      select oid::regclass::text, obj_description(oid, 'pg_class') from relation where relkind in ('r', 'p', 'v', 'm')
      union all
      select polname, obj_description(oid, 'pg_policy') from pg_policy where polrelid in (select oid from relation)
      union all
      select tgname, obj_description(oid, 'pg_trigger') from pg_trigger
      where tgrelid in (select oid from relation) and not tgisinternal
      union all
      select oid::regprocedure::text, obj_description(oid, 'pg_proc') from pg_proc where pronamespace in (select id from ours)
      union all
      select oid::regtype::text, obj_description(oid, 'pg_type') from pg_type
      where typnamespace in (select id from ours) and typtype in ('e', 'd')
    )
    select name from thing where comment is null or char_length(comment) < 10`);
  t.same(silent, []);
});

t.test(
  'every transactional migration starts with row_security off, so no backfill silently skips rows',
  async (t) => {
    t.ok(release.migrations.length > 0);
    for (const { name, text } of release.migrations.filter((file) => onlineStatements(file) === undefined)) {
      const [first] = text.replaceAll(/^\s*(--.*)?\n/gm, '').split('\n');
      t.equal(first, 'set local row_security = off;', name);
    }
  },
);

t.test(
  'a backfill by the owner fails loudly, unless it lifts FORCE and disables the events, and is no event',
  async (t) => {
    const db = await makeDatabase(t);
    const club = await db.makeClub();
    await db.queryAsAdmin(
      'insert into app.tasks (tenant_id, id, title, created_by_id) values ($1, $1, $2, null)',
      [club, 'Old'],
    );
    const facts = await readFacts(db);
    await withClient(db.migrationUrl, async (client) => {
      const backfill = async (before: string, after: string) => {
        await client.query(`begin; set local role club_owner; set local row_security = off; ${before}`);
        const { rowCount } = await client.query(`update app.tasks set title = 'New'`);
        await client.query(`${after}; commit`);
        return rowCount;
      };
      for (const before of ['', 'alter table app.tasks no force row level security']) {
        await t.rejects(backfill(before, ''), { code: '42501', message: /row-level security/ });
        await client.query('rollback');
      }
      t.equal(
        await backfill(
          'alter table app.tasks no force row level security, disable trigger user',
          'alter table app.tasks force row level security, enable trigger user',
        ),
        1,
      );
    });
    t.same(await db.queryAsAdmin('select type from app.events'), [{ type: 'task.created' }]);
    t.same(await readFacts(db), facts);
    t.same(await db.queryAsAdmin('select title from app.tasks'), [{ title: 'New' }]);
  },
);

t.test(
  'a session that holds the deploy lock is reported, with its pid and role, and nothing is changed',
  async (t) => {
    const db = await makeDatabase(t);
    await withClient(db.adminUrl, async (holder) => {
      await holder.query('select pg_advisory_lock($1)', [DEPLOY_LOCK]);
      const { rows } = await holder.query('select pg_backend_pid() as pid, current_user as role');
      await withClient(db.migrationUrl, (client) =>
        t.rejects(lockDeploys(client, 300), {
          name: 'DeployError',
          message: new RegExp(`\\(pid ${rows[0].pid}, role ${rows[0].role}\\); nothing was changed`),
        }),
      );
    });
    await withClient(db.migrationUrl, (client) => lockDeploys(client, 300));
  },
);

t.test('a deadlock and a held lock are retried, for a bounded time', async (t) => {
  const db = await makeDatabase(t);
  await withClient(db.migrationUrl, async (client) => {
    let attempts = 0;
    const fail = (code: string) => async () => {
      attempts += 1;
      if (attempts < 3) {
        throw Object.assign(new Error('in the way'), { code });
      }
      return attempts;
    };
    t.equal(await whenLocksAreFree(client, fail('40P01')), 3);
    attempts = 0;
    t.equal(await whenLocksAreFree(client, fail('55P03')), 3);
    const never = async () => {
      throw Object.assign(new Error('in the way'), { code: '55P03' });
    };
    await t.rejects(whenLocksAreFree(client, never, 300), {
      name: 'DeployError',
      message: /this step changed nothing/,
    });
    attempts = 0;
    await t.rejects(
      whenLocksAreFree(client, fail('42601')),
      { message: 'in the way' },
      'another error is not retried',
    );
    t.equal(attempts, 1);
  });
});

t.test('no foreign object becomes part of the service, with any search_path of the login', async (t) => {
  const db = await makeDatabase(t, { empty: true });
  await db.queryAsAdmin('create schema stranger');
  // Shadows every function and operator of PostgreSQL that can be shadowed, by one that raises.
  await db.queryAsAdmin(`
      do $make$
      declare
        thing record;
      begin
        for thing in
          select format(
            'create function stranger.%I(%s) returns %s language plpgsql as $f$ begin raise exception ''a shadow''; end $f$',
            proname, pg_get_function_identity_arguments(oid), pg_get_function_result(oid)) as statement
          from pg_proc where pronamespace = 'pg_catalog'::regnamespace and prokind = 'f'
          union all
          select format(
            'create operator stranger.%s (function = stranger.%I%s, rightarg = %s)', oprname, proname,
            case oprkind when 'b' then ', leftarg = ' || oprleft::regtype end, oprright::regtype)
          from pg_operator join pg_proc on pg_proc.oid = oprcode where oprnamespace = 'pg_catalog'::regnamespace
        loop
          begin
            execute thing.statement;
          exception when others then
            -- Functions of internal types, and operators on them, cannot be made.
          end;
        end loop;
      end
      $make$`);
  const [made] = await db.queryAsAdmin(`
      select (select count(*) from pg_proc where pronamespace = 'stranger'::regnamespace)::int as functions,
        (select count(*) from pg_operator where oprnamespace = 'stranger'::regnamespace)::int as operators`);
  t.ok(made?.functions > 1_000 && made?.operators > 500, JSON.stringify(made));
  await db.queryAsAdmin('grant usage on schema stranger to public');
  const url = new URL(db.migrationUrl);
  url.searchParams.set('options', '-c search_path=stranger,pg_catalog');
  await deploy(url.href);
  t.same(
    await db.queryAsAdmin(
      `select classid::regclass, objid from pg_depend
       where refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass)
         and (refobjid in (select oid from pg_proc where pronamespace = 'stranger'::regnamespace)
           or refobjid in (select oid from pg_operator where oprnamespace = 'stranger'::regnamespace))
         and classid not in ('pg_operator'::regclass)`,
    ),
    [],
  );
  t.same(await readFacts(db), deployed);
});

t.test(
  'a connection whose login fails is closed by the deploy, and not a minute later by the server',
  async (t) => {
    const db = await makeDatabase(t);
    const proxy = await startProxy(t, db.migrationUrl);
    const url = new URL(proxy.url);
    url.password = '';
    await t.rejects(deploy(url.href), { name: 'ConnectionFailed' });
    const open = await until(
      () => proxy.open,
      (sockets) => sockets === 0,
    );
    t.same([proxy.accepted, open], [1, 0]);
    const refusals = proxy.log.filter(({ from, type }) => from === 'server' && type === 'E');
    t.same(refusals, [], 'before the authentication_timeout of PostgreSQL');
  },
);

t.test(
  'a deploy that cannot connect, or loses its connection, reports it; a bug is shown in full',
  async (t) => {
    const db = await makeDatabase(t);
    const { host, pathname } = new URL(db.migrationUrl);
    for (const [url, reason] of [
      [`postgres://club_migrator@${host}${pathname}`, 'SASL: .*password must be a string'],
      [`${db.migrationUrl}?sslmode=verify-full`, 'The server does not support SSL connections'],
      [
        `${db.migrationUrl}?sslrootcert=/no/such/file`,
        'ENOENT: .* a file or a socket that MIGRATION_DATABASE_URL names does not exist',
      ],
    ] as const) {
      const explained = await deploy(url).catch(explain);
      t.match(
        explained,
        new RegExp(`^The database of MIGRATION_DATABASE_URL cannot be used: ${reason}\\.$`, 'i'),
      );
    }
    const bug = new TypeError('a bug');
    t.equal(explain(bug), bug);

    await db.queryAsAdmin('drop policy tasks_edit on app.tasks');
    await withClient(db.adminUrl, async (holder) => {
      await holder.query('begin; lock table app.members in row exclusive mode');
      let explained: unknown;
      const deploying = deploy(db.migrationUrl).catch((error) => {
        explained = explain(error);
      });
      await until(
        () =>
          db.queryAsAdmin(
            `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          ),
        (terminated) => terminated.length > 0,
      );
      await deploying;
      t.equal(
        explained,
        'The database of MIGRATION_DATABASE_URL cannot be used: terminating connection due to administrator command.',
      );
    });
  },
);
