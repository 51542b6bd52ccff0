import { execFile } from 'node:child_process';
import t from 'tap';
import { deploy } from '../../src/deploy/deploy.js';
import { createDatabase } from '../../tools/development-database.js';
import { root } from '../../tools/root.js';
import { hasPsql } from '../setup/database.js';
import { startServer } from '../setup/server.js';

const skip = !hasPsql() && 'psql is missing; install postgresql-client';

/** Replaces a view of the audit by one without rows. */
const emptied = (view: string) => `
  do $do$ begin
    execute (
      select format('create or replace view audit.${view} with (security_invoker) as select %s where false',
        string_agg(concat('null::', format_type(atttypid, atttypmod), ' collate ' || nullif(attcollation, 0)::regcollation, ' as ', attname), ', ' order by attnum))
      from pg_attribute where attrelid = 'audit.${view}'::regclass and attnum > 0);
  end $do$`;

const chapters = ['core', 'role', 'grant', 'server', 'drift'];

/** What hides weaknesses from the audit in the database, with the objects that it changes. The last one also accepts them as facts. */
const blindfolds: { objects: string[]; statement: string }[] = [
  { objects: ['view audit.findings'], statement: emptied('findings') },
  {
    objects: ['function audit.collect_findings()'],
    statement: `
      create or replace function audit.collect_findings() returns table (code text, object text, detail text, fix text, role name)
      language sql stable as $$select null, null, null, null, null where false$$`,
  },
  {
    objects: chapters.map((chapter) => `view audit.${chapter}_findings`),
    statement: [
      ...chapters.map((chapter) => emptied(`${chapter}_findings`)),
      'select from audit.record_facts()',
    ].join(';'),
  },
];

/** Another application, whose login has a name such as the roles of the service have. */
const otherApplication = `
  create role club_website login;
  create schema website authorization club_website;
  set local role club_website;
  create table website.pages (path text);
  create function website.count() returns int security definer return 1;
  reset role`;

/** Weaknesses, each with what the check must print. */
const weaknesses: [statement: string, printed: RegExp][] = [
  ['alter table app.tasks disable row level security', /^critical: rls_disabled table app\.tasks /m],
  ['alter table app.shifts no force row level security', /^critical: rls_not_forced table app\.shifts /m],
  ['drop policy members_floor on app.members', /^critical: floor_missing table app\.members .*club_api/m],
  [
    'alter policy clubs_floor on app.clubs using (true)',
    /^critical: floor_missing table app\.clubs .*club_api/m,
  ],
  [
    'create policy shown on app.events to club_signup using (true)',
    /^> policy app\.events\.shown: .* club_signup /m,
  ],
  [
    'create view app.titles as select title from app.tasks',
    /^critical: view_reads_as_owner view app\.titles /m,
  ],
  ['alter role club_api bypassrls', /^critical: role_beyond_rls role club_api /m],
  ['alter role club_roster login', /^critical: role_login role club_roster /m],
  ['grant club_signup to club_api', /^critical: role_reachable role club_api .*club_signup/m],
  ['create role stranger in role club_owner', /^warning: role_lent role stranger .*club_owner/m],
  [
    'grant select (title) on app.tasks to public',
    /^critical: granted_to_public grant select on table app\.tasks\.title to public /m,
  ],
  [
    'create role club_stranger; grant select on app.tasks to club_stranger',
    /^critical: granted_to_stranger grant select on table app\.tasks to club_stranger /m,
  ],
  [
    'grant usage on schema app to club_auditor',
    /^critical: granted_to_auditor grant usage on schema app to club_auditor /m,
  ],
  [
    'grant execute on function app.list_clubs() to pg_monitor',
    /^critical: operator_function_granted grant execute on routine app\.list_clubs\(\) to pg_monitor /m,
  ],
  [
    'alter function app.sign_up(uuid) owner to club_owner',
    /^critical: definer_unintended function app\.sign_up\(uuid\) .*club_owner/m,
  ],
  [
    'create function public.show() returns int security definer return 1; alter function public.show() owner to club_owner',
    /^critical: definer_unintended function public\.show\(\) .*club_owner/m,
  ],
  [
    `create or replace function app.tenant_id() returns uuid stable return '22222222-2222-4222-8222-222222222222'::uuid`,
    /^critical: accessor_changed function app\.tenant_id\(\) /m,
  ],
  ['drop trigger tasks_guard on app.tasks', /^< trigger app\.tasks\.tasks_guard: /m],
  ['create view audit.more as select', /^view audit\.more: it is not of this checkout$/m],
  ['drop function audit.assert_clean()', /^function audit\.assert_clean\(\): it is missing$/m],
  ['grant insert on audit.notes to public', /^view audit\.notes: it is not as this checkout creates it$/m],
  [
    'alter table app.tasks drop constraint tasks_title_length',
    /^warning: schema_drift constraint app\.tasks\./m,
  ],
  [
    `create function public.noticed() returns event_trigger language plpgsql as 'begin end';
     create event trigger noticed on ddl_command_end execute function public.noticed()`,
    /^event trigger noticed: /m,
  ],
];

t.test('the independent check notices what the audit in the database does not show', { skip }, async (t) => {
  const server = await startServer(t);
  await createDatabase(server, 'clubs');
  await deploy(server.url('clubs', 'club_migrator', server.password));
  const counted = 'select count(*) from audit.findings';
  /** Runs statements and then the check, which rolls them back. */
  const check = (login: string | undefined, ...statements: string[]) =>
    new Promise<{ code: number; out: string }>((resolve) => {
      const url = login === undefined ? server.url('clubs') : server.url('clubs', login, server.password);
      const commands = [...statements, counted].flatMap((statement) => ['--command', statement]);
      const args = [url, '--no-psqlrc', '--quiet', '-At', ...commands, '--file', 'sql/check.sql'];
      execFile('psql', args, { cwd: root }, (error, stdout) =>
        // A statement without columns prints an empty line.
        resolve({ code: Number(error?.code ?? 0), out: stdout.replaceAll(/^\n/gm, '') }),
      );
    });

  for (const login of [undefined, 'club_migrator']) {
    t.same(await check(login), { code: 0, out: '0\nthe same\n' });
  }
  t.same(await check(undefined, 'begin', otherApplication), { code: 0, out: '0\nthe same\n' });
  t.same(
    await check(undefined, 'begin', 'delete from deploy.facts'),
    { code: 3, out: '1\ncritical: facts_missing table deploy.facts (it is empty)\n' },
    'lost facts are no other difference',
  );
  for (const { objects, statement } of blindfolds) {
    const { code, out } = await check(undefined, 'begin', statement);
    t.equal(code, 3);
    t.match(out, /^0\n/, `the audit in the database shows nothing without ${objects}`);
    for (const object of objects) {
      t.match(out, `${object}: it is not as this checkout creates it\n`);
    }
    t.notMatch(out, 'the same');
  }
  const { code, out } = await check(
    undefined,
    'begin',
    ...weaknesses.map(([statement]) => statement),
    emptied('findings'),
  );
  t.equal(code, 3);
  t.match(out, /^0\n/, 'the audit in the database shows none of the weaknesses');
  for (const [statement, printed] of weaknesses) {
    t.match(out, printed, statement);
  }
  t.same(await check(undefined), { code: 0, out: '0\nthe same\n' }, 'the check rolls back');
});
