import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { readIdentityBook } from '../setup/identity-book.js';
import { startProvider } from '../setup/provider.js';
import { root } from '../setup/source.js';
import { type Ended, prepareCommands } from './fixtures/commands.js';

const commands = await prepareCommands(t);
await commands.serve();

const readme = await readFile(join(root, 'README.md'), 'utf8');
const chapter = /^## Quickstart$(.*?)^## /ms.exec(readme)?.[1] ?? '';
const blocks = [...chapter.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
const DEFAULT_URL = 'http://127.0.0.1:3000';
const NEVER = '00000000-0000-4000-8000-000000000000';

/** Pastes the lines into one shell, in the directory of the project, and answers with what they printed. */
async function paste(lines: string, { directory, url } = commands): Promise<Ended> {
  const shell = spawn('bash', ['--norc', '--noprofile'], {
    cwd: root,
    env: { PATH: process.env.PATH, EMBEDDED_DATA_DIR: directory },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  t.teardown(() => shell.kill('SIGKILL'));
  const ended = once(shell, 'exit') as Promise<[number]>;
  // The one thing that is not as printed: the port, which on the reader's machine is free.
  shell.stdin.end(lines.replaceAll(DEFAULT_URL, url));
  const [out, err, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), ended]);
  return { code, out, err };
}

const { code, out, err } = await paste(`${blocks.join('\n')}\nas $CLEO $SOUTH $URL/api/shifts/${NEVER}\n`);
// What went wrong is said below, with the complaint.
const lines = code === 0 && err === '' ? out.trim().split('\n') : [];
const answers = lines.map((line) => JSON.parse(line));

t.test('the lines run as they are printed, and complain of nothing', async (t) => {
  t.equal(blocks.length, 6);
  t.equal(chapter.split(DEFAULT_URL).length, 3, 'one URL to paste, and one to look at');
  t.same([code, err], [0, '']);
});

t.test('they show what the text beside them says', async (t) => {
  const [
    clubs,
    signup,
    full,
    assigned,
    started,
    conflict,
    impossible,
    foreign,
    unseen,
    typed,
    never,
    ...more
  ] = answers;
  t.same(more, []);
  t.match(clubs, [
    { slug: 'north', role: 'Member' },
    { slug: 'south', role: 'Manager' },
  ]);
  t.match(signup, { memberName: 'Ben Brandt', shiftId: String });
  t.match(full, { status: 409, code: 'shift_full' });
  t.match(assigned, { title: 'Order glasses', state: 'Assigned', assigneeName: 'Ben Brandt', version: 2 });
  t.match(started, { id: assigned.id, state: 'InProgress', version: 3 });
  t.match(conflict, { status: 409, code: 'task_version_conflict', currentVersion: 3 });
  t.match(impossible, {
    status: 422,
    code: 'invalid_task_transition',
    currentState: 'InProgress',
    requestedState: 'Done',
    allowedTransitions: ['Assigned', 'Review'],
  });
  t.match(foreign, { status: 403, code: 'tenant_forbidden' });
  t.match(unseen, { status: 404, code: 'shift_not_found', instance: `/api/shifts/${signup.shiftId}` });

  t.match(typed, { memberName: 'Cleo Costa', shiftId: String });

  const { requestId: _one, instance: _here, ...answer } = unseen;
  const { requestId: _other, instance: _there, ...absent } = never;
  t.same(answer, absent, 'the answer is that of an id that never was');
});

t.test('somebody with a token of Keycloak signs up with the lines as they are printed', async (t) => {
  const [keycloak] = await readIdentityBook();
  const provider = await startProvider(t);
  const [, lines = ''] = /\n\n( {4}AUTH_ISSUER=.*? make run)\n\n/s.exec(chapter) ?? [];
  const printed = await paste(lines.replace('make run', 'env'));
  const settings = Object.fromEntries(
    [...printed.out.matchAll(/^(AUTH_\w+)=(.*)$/gm)].map(([, name, value]) => [
      name as string,
      value as string,
    ]),
  );
  t.same(settings, keycloak?.settings, 'they are those of docs/identity.md');

  const theirs = await prepareCommands(t);
  const { token: none } = await theirs.serve({ ...settings, AUTH_ISSUER: provider.url });
  t.equal(none, '', 'there is no token of ours');
  const now = Math.floor(Date.now() / 1000);
  const name = keycloak?.token.payload.name;
  const signUp = (claims: object) => {
    const token = provider.sign({
      ...keycloak?.token.payload,
      iss: provider.url,
      iat: now,
      exp: now + 300,
      ...claims,
    });
    return paste(`${blocks[0]?.split('\n', 1)}\nCLEO=${token}\n${blocks.at(-1)}`, theirs);
  };
  const { out, err } = await signUp({});
  t.match([name, err, JSON.parse(out || '{}')], ['Anna Albers', '', { memberName: name, shiftId: String }]);
  t.match((await signUp({ groups: ['/clubs/north/manager'] })).err, /tenant_forbidden/);
  t.match((await signUp({ aud: 'account' })).err, /invalid_token/);
});
