import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { Environment } from '../../src/variables.js';
import { root } from '../../tools/root.js';
import { freePort } from '../setup/free-port.js';
import { startServer } from '../setup/server.js';
import { untilReady } from '../setup/wait.js';

const BIN = '/usr/lib/postgresql/15/bin';
const skip = !existsSync(`${BIN}/psql`) && 'psql is missing; install postgresql-15';

const read = (file: string) => readFile(join(root, file), 'utf8');
const compose = await read('compose.yaml');
const dockerfile = await read('Dockerfile');
const page = await read('docs/operate.md');

/** The lines of a service below a key, and what is on the line of the key. */
function section(service: string, key: string): { inline: string; lines: string[] } {
  const [, block = ''] = new RegExp(`^  ${service}:\n((?: {4}.*\n)+)`, 'm').exec(compose) ?? [];
  const [, inline = '', lines = ''] = new RegExp(`^ {4}${key}:(.*)\n((?: {6}.*\n)*)`, 'm').exec(block) ?? [];
  return { inline: inline.trim(), lines: lines.split('\n').filter((line) => line !== '') };
}

function commandOf(service: string): string[] {
  const { inline, lines } = section(service, 'command');
  return inline === '' ? lines.map((line) => line.replace(/^ {6}- /, '')) : JSON.parse(inline);
}

function environmentOf(service: string): Record<string, string> {
  return Object.fromEntries(
    section(service, 'environment').lines.map((line) =>
      line
        .trim()
        .split(/: (.*)/)
        .slice(0, 2),
    ),
  );
}

const inDockerfile = (form: RegExp) => form.exec(dockerfile)?.[1] ?? '';
const command: string[] = JSON.parse(inDockerfile(/^CMD (.*)$/m));
const healthCheck: string[] = JSON.parse(inDockerfile(/^HEALTHCHECK .*CMD (.*)$/m));
const imageVariables = Object.fromEntries(
  inDockerfile(/^ENV (.*)$/m)
    .split(' ')
    .map((variable) => variable.split('=')),
);

t.test(
  'docs/operate.md sets the variables that compose.yaml requires, and the service knows the others',
  async (t) => {
    const [, variables = ''] = /^ {4}export (.*)\n {4}docker compose up --build$/m.exec(page) ?? [];
    const required = [...compose.matchAll(/\$\{(\w+):\?\}/g)].map(([, name]) => name);
    t.same(
      variables
        .split(' ')
        .map((variable) => variable.split('=')[0])
        .sort(),
      [...new Set(required)].sort(),
    );
    const set = { ...imageVariables, ...environmentOf('deploy'), ...environmentOf('service') };
    t.same(
      Object.keys(set).filter((name) => !(name in Environment.properties)),
      [],
    );
  },
);

t.test('compose.yaml publishes the port of the API only, on the machine itself', async (t) => {
  const published = [...compose.matchAll(/^ {4}ports:\n((?: {6}.*\n)+)/gm)].map(([, lines]) => lines?.trim());
  t.same(published, [`- "127.0.0.1:3000:${imageVariables.PORT}"`]);
  t.equal(inDockerfile(/^EXPOSE (.*)$/m), `${imageVariables.PORT} ${imageVariables.METRICS_PORT}`);
});

t.test(
  'the commands of compose.yaml and of the image deploy and start the service, and once more',
  { skip },
  async (t) => {
    const server = await startServer(t);
    const name = environmentOf('database').POSTGRES_DB as string;
    await withClient(server.url('postgres'), (client) => client.query(`create database ${name}`));
    const values: Record<string, string> = {
      POSTGRES_PASSWORD: server.password,
      API_PASSWORD: 'api',
      DEPLOY_PASSWORD: 'deploy',
      AUDIT_PASSWORD: 'audit',
      AUTH_ISSUER: 'http://127.0.0.1:9',
    };
    const [file = '', mounted = ''] =
      section('roles', 'volumes').lines[0]?.replace(/^.*- /, '').split(':') ?? [];
    const fill = (text: string) =>
      text
        .replaceAll(
          /\$\{(\w+):([?-])(.*?)\}/g,
          (_, name, sign, other) => values[name] ?? (sign === '-' ? other : ''),
        )
        .replaceAll('database:5432', `${server.host}:${server.port}`)
        .replace(new RegExp(`^${mounted}$`), join(root, file));
    const variablesOf = (service: string) =>
      Object.fromEntries(Object.entries(environmentOf(service)).map(([name, value]) => [name, fill(value)]));
    const run = ([program = '', ...args]: string[], variables: Record<string, string>) =>
      promisify(execFile)(program, args.map(fill), {
        cwd: root,
        env: { PATH: `${BIN}:${process.env.PATH}`, ...variables },
      });

    const [kind, ...isReady]: string[] = JSON.parse(
      /test: (.*)$/m.exec(section('database', 'healthcheck').lines.join('\n'))?.[1] ?? '',
    );
    t.equal(kind, 'CMD');
    await run(isReady, { PGPORT: String(server.port) });
    for (const deployed of [/^Deployed: /, /^Nothing to deploy: /]) {
      await run(commandOf('roles'), variablesOf('roles'));
      t.match((await run(commandOf('deploy'), variablesOf('deploy'))).stdout, deployed);
    }
    await withClient(server.url(name), async (client) => {
      t.same((await client.query('select code, object from audit.findings')).rows, []);
    });

    const ports = { PORT: String(await freePort()), METRICS_PORT: String(await freePort()) };
    const variables = { ...imageVariables, ...variablesOf('service'), ...ports };
    const [program = '', ...args] = command;
    const service = spawn(program, args, {
      cwd: root,
      env: { PATH: process.env.PATH, ...variables },
      stdio: 'ignore',
    });
    t.teardown(() => service.kill('SIGKILL'));
    await untilReady(service, `http://127.0.0.1:${ports.PORT}/readyz`);
    await run(healthCheck, variables);
    const ended = once(service, 'exit');
    service.kill('SIGKILL');
    await ended;
    await t.rejects(run(healthCheck, variables), { code: 1 }, 'a process that does not respond is unhealthy');
  },
);
