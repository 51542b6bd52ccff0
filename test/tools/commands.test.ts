import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { SHIFT_ID, TASK_ID } from '../../src/examples.js';
import type { ShiftListDto } from '../../src/shifts/schemas.js';
import { TASK_STATES } from '../../src/tasks/schemas.js';
import { startEmbedded } from '../../tools/development-database.js';
import { root } from '../../tools/root.js';
import { hasPsql, makeDatabase } from '../setup/database.js';
import { type Ended, prepareCommands } from './fixtures/commands.js';
import { paste } from './fixtures/paste.js';
import { becomes, isDown, kill } from './fixtures/postgres.js';

const NORTH = '11111111-1111-4111-8111-111111111111';
const SOUTH = '22222222-2222-4222-8222-222222222222';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

type Shift = Pick<ShiftListDto, 'startsAt' | 'freeSlots' | 'signupCount'>;

const commands = await prepareCommands(t);
const first = await commands.serve();
const anna = first.token;

/** Gets a list or an object from the service, with a token and optionally a club. */
async function get<Body>(
  path: string,
  token: string,
  club?: string,
  { url } = { url: commands.url },
): Promise<Body> {
  const response = await fetch(`${url}${path}`, {
    headers: { authorization: `Bearer ${token}`, ...(club && { 'x-tenant-id': club }) },
  });
  return (await response.json()) as Body;
}

async function tokenOf(...args: string[]): Promise<string> {
  return (await commands.run('token.js', args)).out.trim();
}

/** The address of the running embedded server, without its password. */
async function addressOfPostgres(): Promise<string> {
  const lines = await readFile(join(commands.directory, 'postgres/cluster/postmaster.pid'), 'utf8');
  return `postgres://postgres@127.0.0.1:${lines.split('\n')[3]}/postgres`;
}

/** Asserts that a command printed only one sentence, and exited with 1. */
function isRefusal(t: Test, { code, out, err }: Ended, sentence: RegExp) {
  t.same([code, out], [1, ''], err);
  t.match(err, sentence);
  t.match(err, /^(The configuration is unusable:\n {2})?.+\n$/, 'one sentence');
}

t.test('outside of development make run refuses to start, and make token gives no token', async (t) => {
  const elsewhere = await prepareCommands(t);
  const [unset, production, token, early] = await Promise.all([
    elsewhere.run('run.js', [], { NODE_ENV: '' }),
    elsewhere.run('run.js', [], { NODE_ENV: 'production' }),
    commands.run('token.js', ['anna'], { NODE_ENV: 'production' }),
    elsewhere.run('token.js', ['anna']),
  ]);
  isRefusal(t, unset, /NODE_ENV must be development for make run\./);
  isRefusal(t, production, /NODE_ENV must be development for make run\./);
  isRefusal(t, token, /NODE_ENV must be development for make token\./);
  isRefusal(t, early, /no development issuer yet\. Start it with make run\./);
  t.same(await readdir(elsewhere.directory), [], 'nothing was started');
});

t.test('only make run creates a database', async (t) => {
  const elsewhere = await prepareCommands(t);
  const [audit, psql, reset, club] = await Promise.all([
    elsewhere.run('audit.js'),
    elsewhere.run('psql.js'),
    elsewhere.run('reset.js'),
    elsewhere.run('club.js', ['Chess Club', 'chess']),
  ]);
  const err = 'There is no database yet: make run creates one.\n';
  t.same(audit, { code: 2, out: '', err });
  t.same(psql, { code: 1, out: '', err });
  t.same(reset, { code: 1, out: '', err });
  t.same(club, { code: 1, out: '', err });
  t.same(await readdir(elsewhere.directory), [], 'nothing was started');
});

t.test('make run prints a token, and commands that work when pasted', async (t) => {
  const lines = first.welcome.match(/^curl .*$/gm) ?? [];
  t.equal(lines.length, 3);
  for (const line of lines) {
    const [, url = '', flags = ''] = /^curl -s (http:\S+)((?: -H "[^"]+")+)$/.exec(line) ?? [];
    t.match(url, commands.url);
    const headers = [...flags.matchAll(/-H "([^:]+): ([^"]+)"/g)].map(
      ([, name = '', value = '']) => [name, value.replace('$TOKEN', anna)] as [string, string],
    );
    const response = await fetch(url, { headers });
    t.equal(response.status, 200, line);
    t.ok(((await response.json()) as unknown[]).length > 0, 'and print rows');
  }
});

t.test(
  'the demo has two clubs with fixed ids, past, full and open shifts, and a task in each state',
  async (t) => {
    const dora = await tokenOf('dora');
    t.match(await get('/api/clubs/me', dora), [
      { id: NORTH, slug: 'north', role: 'Admin' },
      { id: SOUTH, slug: 'south', role: 'Admin' },
    ]);
    const shifts = await get<Shift[]>('/api/shifts', dora, NORTH);
    const isPast = ({ startsAt }: Shift) => Date.parse(startsAt) < Date.now();
    t.ok(
      shifts.some((shift) => isPast(shift) && shift.signupCount > 0),
      'a past shift',
    );
    t.ok(
      shifts.some((shift) => !isPast(shift) && shift.freeSlots === 0),
      'a full shift',
    );
    t.ok(
      shifts.some((shift) => !isPast(shift) && shift.freeSlots > 0),
      'an open shift',
    );
    const tasks = await get<{ state: string }[]>('/api/tasks', dora, NORTH);
    t.same(tasks.map(({ state }) => state).sort(), ['Assigned', 'Done', 'InProgress', 'Open', 'Review']);
    t.equal((await get<Shift[]>('/api/shifts', dora, SOUTH)).length, 1);
  },
);

t.test('make run that is stopped while it loads the demo data loads all of it', async (t) => {
  const db = await makeDatabase(t);
  const { start } = await prepareCommands(t);
  const child = start('run.js', [], { DATABASE_URL: db.url, MIGRATION_DATABASE_URL: db.migrationUrl });
  t.teardown(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  while ((await db.queryAsAdmin('select from app.members')).length === 0) {
    t.equal(child.exitCode, null);
  }
  child.kill('SIGINT');
  t.same(await ended, [0, null]);
  t.same(
    await db.queryAsAdmin('select state from app.tasks order by state'),
    [...TASK_STATES].sort().map((state) => ({ state })),
  );
});

t.test('a second make run on the same port or directory reports it and changes nothing', async (t) => {
  const readIssuer = () => readFile(join(commands.directory, 'issuer.json'), 'utf8');
  const issuer = await readIssuer();
  isRefusal(t, await commands.run('run.js'), new RegExp(`^The port ${commands.port} is taken: .+ PORT`));
  await t.rejects(commands.serve({ PORT: '0' }), {
    message: /: make run is running already with .+ set EMBEDDED_DATA_DIR and PORT for a second one\.\n$/,
  });
  t.equal(await readIssuer(), issuer, 'the issuer of the first still works');
  t.match(await get('/api/clubs/me', anna), [{ id: NORTH }]);
});

t.test('make token prints a token that works, and on stdout nothing else', async (t) => {
  const emil = await commands.run('token.js', ['emil']);
  t.match(emil, { code: 0, out: /^\S+\n$/, err: '' });
  t.match(await get('/api/members/me', emil.out.trim(), NORTH), {
    displayName: 'Emil Engel',
    role: 'Viewer',
  });
  const stranger = await tokenOf('somebody new', `south,${NORTH}`, 'Manager');
  t.match(await get('/api/clubs/me', stranger), [{ role: 'Manager' }, { role: 'Manager' }]);
  const typo = await commands.run('token.js', ['anne']);
  t.match(typo, {
    code: 0,
    out: /^\S+\n$/,
    err: /^anne is none of the demo people \(anna, .+ no club\. CLUB=north .+\n$/,
  });
  t.same(await get('/api/clubs/me', typo.out.trim()), []);

  isRefusal(t, await commands.run('token.js'), /^Give the person/);
  isRefusal(t, await commands.run('token.js', ['anna', 'east']), /^east is neither a demo club/);
  isRefusal(t, await commands.run('token.js', ['anna'], { PORT: 'none' }), /PORT must be/);
  const elsewhere = await commands.run('token.js', ['anna'], { AUTH_ISSUER: 'https://id.example.org' });
  isRefusal(t, elsewhere, /^AUTH_ISSUER is set/);
});

t.test('make test reports a missing file, and the variable of a server that it cannot use', async (t) => {
  const missing = 'test/api/missing.test.ts';
  const helper = 'test/tools/fixtures/commands.ts';
  const address = (await addressOfPostgres()).replace('postgres@', 'postgres:wrong@');
  const [typo, noTest, login, noPassword, noUrl, programs] = await Promise.all([
    commands.run('test.js', ['test/tools/commands.test.ts', missing]),
    commands.run('test.js', [helper]),
    commands.run('test.js', [], { TEST_DATABASE_URL: address }),
    commands.run('test.js', [], { TEST_DATABASE_URL: address.replace(':wrong', '') }),
    commands.run('test.js', [], { TEST_DATABASE_URL: 'localhost' }),
    commands.run('test.js', [], { TEST_POSTGRES_BIN: commands.directory }),
  ]);
  isRefusal(t, typo, new RegExp(`^There is no test file ${missing}\\.`));
  isRefusal(t, noTest, new RegExp(`^There is no test file ${helper}\\.`));
  isRefusal(
    t,
    login,
    /^The database of TEST_DATABASE_URL cannot be used: password .+ correct TEST_DATABASE_URL/,
  );
  isRefusal(t, noPassword, /^The database of TEST_DATABASE_URL cannot be used: .+ password must be/);
  isRefusal(t, noUrl, /TEST_DATABASE_URL must be/);
  isRefusal(t, programs, /TEST_POSTGRES_BIN must be .+ there is no initdb in/);
});

t.test('make psql takes no unknown club, person or role for another one', async (t) => {
  for (const args of [['east'], ['north', 'zoe'], ['north', 'anna', 'viewer']]) {
    isRefusal(t, await commands.run('psql.js', args), /^Give a demo club and a person with a role in it/);
  }
});

t.test('make club prints the id of the new club, and nothing else, while make run serves', async (t) => {
  const made = await commands.run('club.js', ['Chess Club', 'chess', 'Europe/Paris']);
  t.match(made, { code: 0, err: '' });
  const id = made.out.trim();
  t.match(id, UUID);
  t.equal(made.out, `${id}\n`);
  t.match(await get('/api/clubs/current', await tokenOf('anna', id), id), {
    name: 'Chess Club',
    slug: 'chess',
    timeZone: 'Europe/Paris',
    role: 'Member',
  });

  isRefusal(t, await commands.run('club.js', ['', 'go']), /^Give a name and a slug/);
  const { code, out, err } = await paste(t, 'NAME=my-laptop make club SLUG=go', commands);
  t.match(
    [code, out, err],
    [2, '', /^Give a name and a slug/],
    'the name of the machine is no name of a club',
  );
  isRefusal(
    t,
    await commands.run('club.js', ['Chess Again', 'chess']),
    /^There is a club with the slug chess/,
  );
  isRefusal(t, await commands.run('club.js', ['Go', 'go', 'Europe/Atlantis']), /^There is no time zone/);
});

t.test('make audit audits the database of make run, as club_auditor', async (t) => {
  const { code, out, err } = await commands.run('audit.js');
  t.same([code, err], [0, '']);
  t.match(out, /^ +login +club_auditor$/m);
  t.match(out, /^No findings/m);
  const access = await paste(t, 'make audit ACCESS=1', commands);
  t.match([access.code, access.out], [0, /^Access: which role may do what with which table/m]);
});

t.test(
  'sql/README.md has the URLs of the administrator, the deploy and the auditor for the embedded server',
  { skip: !hasPsql() && 'psql is missing; install postgresql-client' },
  async (t) => {
    const [lines = ''] =
      /^ {4}CLUSTER=.*?(?=^\n|^\S)/ms.exec(await readFile(join(root, 'sql/README.md'), 'utf8')) ?? [];
    const ask = 'psql --tuples-only --no-align -c "select session_user"';
    const pasted = await paste(
      t,
      `PAGER=\n${lines}\n${['$MIGRATION_DATABASE_URL', '$AUDIT_DATABASE_URL'].map((url) => `${ask} "${url}"`).join('\n')}`,
      commands,
    );
    t.same([pasted.code, pasted.err], [0, '']);
    t.match(pasted.out, /\n +[1-9]\d*\n\(1 row\)\n\nclub_migrator\nclub_auditor\n$/);
  },
);

t.test(
  'make psql enters the club after it has connected, before the startup file of the user',
  { skip: !hasPsql() && 'psql is missing; install postgresql-client' },
  async (t) => {
    const HOME = t.testdir({
      '.psqlrc': `\\set QUIET on
        \\pset format unaligned
        \\pset tuples_only on
        select current_setting('app.role'), count(*) from shifts;
        select code, object from audit.findings;`,
    });
    // Without a preset context, which would be a finding.
    const entered = { code: 0, out: /^Manager\|[1-9]\d*\n$/ };
    t.match(await commands.run('psql.js', [], { HOME }), entered);
    t.match(
      await commands.run('psql.js', ['north', "o'neil", 'Manager'], { PSQLRC: join(HOME, '.psqlrc') }),
      entered,
    );
  },
);

t.test('a killed make run leaves no PostgreSQL running, and the next one serves the same data', async (t) => {
  const headers = { authorization: `Bearer ${await tokenOf('dora')}`, 'x-tenant-id': NORTH };
  for (const example of [`/api/tasks/${TASK_ID}`, `/api/shifts/${SHIFT_ID}`]) {
    const { status } = await fetch(`${commands.url}${example}`, { method: 'DELETE', headers });
    t.equal(status, 204, example);
  }
  const postgres = await addressOfPostgres();
  t.equal(await isDown(postgres), false);
  await kill(first.child);
  t.equal(await becomes(() => isDown(postgres)), true);

  // An address of IPv6 that works on machines without IPv6.
  const next = await commands.serve({ HOST: '::ffff:127.0.0.1', PORT: '0' });
  const { child, token } = next;
  t.match(next.url, /^http:\/\/\[::ffff:127\.0\.0\.1\]:[1-9]\d+$/, 'the URL has the port that is free');
  t.equal((await get<unknown[]>('/api/tasks', token, NORTH, next)).length, 5, 'with the same data');
  t.match(
    await get(`/api/tasks/${TASK_ID}`, token, NORTH, next),
    { id: TASK_ID },
    'a deleted example is there again',
  );
  t.match(await get(`/api/shifts/${SHIFT_ID}`, token, NORTH, next), { id: SHIFT_ID });

  const server = await addressOfPostgres();
  // As browsers do: a spare connection without requests.
  const spare = connect(Number(new URL(next.url).port), '127.0.0.1').on('error', () => {});
  await once(spare, 'connect');
  child.kill('SIGTERM');
  t.same(
    await once(child, 'exit'),
    [0, null],
    'stopped by a signal, it exits with 0, although a client keeps a connection open',
  );
  t.equal(await isDown(server), true, 'and no process stays');
  await t.rejects(get('/api/clubs/me', token, undefined, next), { cause: { code: 'ECONNREFUSED' } });
});

t.test('make audit and make psql deploy nothing, make run does, and make reset starts again', async (t) => {
  const embedded = await startEmbedded(commands.directory, 'as it is');
  const query = (text: string) => withClient(embedded.url('club'), (client) => client.query(text));
  await query('create policy everything on app.tasks to club_api using (true)');
  await query("update deploy.migration_files set sha256 = 'edited' where name like '0012%'");
  await embedded.stop();

  const audited = await commands.run('audit.js');
  t.match([audited.code, audited.out], [1, /everything/]);
  t.match((await commands.run('psql.js')).err, /^You are anna, Manager of/);
  const refused = await commands.run('run.js');
  t.match([refused.code, refused.err], [1, /0012.*edited.*make reset begins with an empty database/]);

  t.match(await commands.run('reset.js'), {
    code: 0,
    out: /^Dropped the database of make run, in .+\.\n$/,
    err: '',
  });
  t.match(await commands.run('audit.js'), { code: 2, err: /^There is no database yet/ });
  const running = await commands.serve();
  t.equal(
    (await get<unknown[]>('/api/tasks', running.token, NORTH, running)).length,
    5,
    'the demo data is there',
  );
  t.match(await commands.run('reset.js'), { code: 1, err: /stop make run first/ });
});
