import t from 'tap';
import { Database } from '../../src/database/database.js';
import { withClient } from '../../src/deploy/client.js';
import { deploy } from '../../src/deploy/deploy.js';
import { provisionClub } from '../../src/deploy/provision-club.js';
import { readLogins, readRolesFile } from '../../src/deploy/roles.js';
import { isDeployed } from '../../src/ops/schema-version.js';
import { startServer } from '../setup/server.js';

t.test('an administrator without superuser can run roles.sql, and then the deploy works', async (t) => {
  const server = await startServer(t);
  const url = (user: string) => server.url('club', user, 'secret');
  await withClient(server.url('postgres'), async (superuser) => {
    await superuser.query(`create role administrator login createrole password 'secret'`);
    await superuser.query('create database club owner administrator');
  });
  await t.rejects(deploy(server.url('club')), {
    name: 'DeployError',
    message:
      /^The login of the deploy needs the role club_owner, club_api, .*, club_operator: an administrator runs sql\/roles\.sql/,
  });
  const roles = readRolesFile();
  await withClient(server.url('postgres'), (superuser) =>
    superuser.query(`create database latin encoding 'LATIN1' locale 'C' template template0`),
  );
  await withClient(server.url('latin'), async (administrator) => {
    await t.rejects(administrator.query(roles), { message: /latin has the encoding LATIN1\. .* needs UTF8/ });
  });
  await withClient(url('administrator'), async (administrator) => {
    await administrator.query(roles);
    await administrator.query(roles);
    for (const login of readLogins()) {
      await administrator.query(`alter role ${login} password 'secret'`);
    }
  });
  t.equal((await deploy(url('club_migrator'))).applied, true);
  await t.rejects(
    deploy(server.url('postgres', 'club_migrator', 'secret')),
    { name: 'DeployError', message: /in the database postgres: an administrator runs sql\/roles\.sql/ },
    'a database in which roles.sql was not run',
  );
  t.match(await provisionClub(url('club_migrator'), { name: 'North', slug: 'north', timeZone: 'UTC' }), /-/);
  const database = new Database({ url: url('club_api'), size: 1, prepare: true, readsPerConnection: 1 });
  t.teardown(() => database.close());
  t.equal(await isDeployed(database), true);
  await withClient(url('club_auditor'), async (auditor) => {
    const { rows: intended } = await auditor.query(
      'select role, can_login, why from audit.intended_roles order by role',
    );
    const { rows: created } = await auditor.query(
      `select rolname as role, rolcanlogin as can_login, shobj_description(oid, 'pg_authid') as why
       from pg_roles where rolname !~ '^pg_' and rolname not in ('administrator', 'postgres') order by rolname`,
    );
    t.same(intended, created, 'the audit intends the roles of roles.sql and no other, with their reasons');
    const found = async () => (await auditor.query('select severity, code, object from audit.findings')).rows;
    const finding = { severity: 'warning', code: 'beyond_row_level_security', object: 'role administrator' };
    t.same(await found(), [finding], 'the administrator may grant roles and owns the database');
    await deploy(url('club_migrator'), undefined, ['administrator']);
    t.same(await found(), [], 'until the deploy approves that');
  });
  await t.rejects(
    deploy(url('administrator')),
    { name: 'DeployError', message: /^The login administrator may not deploy: .* as club_migrator\.$/ },
    'the deploy needs its own login',
  );
});
