import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { FastifyPluginAsync } from 'fastify';
import t from 'tap';
import { readDevelopmentConfig, readMigrationUrl, readServerConfig } from '../../src/config.js';
import { deploy, explainFailure } from '../../src/deploy/deploy.js';
import { explain, start } from '../../src/start.js';
import { Environment } from '../../src/variables.js';
import { root } from '../../tools/root.js';
import { testCluster } from '../setup/database.js';
import { faultsOf, faultyIn, production } from '../setup/faults.js';

const names = Object.keys(Environment.properties);
t.test('.env.example has every variable once, each with a comment and the default of the code', async (t) => {
  const example = await readFile(join(root, '.env.example'), 'utf8');
  const written = [...example.matchAll(/^(# .+\n)?([A-Z_]+)=(.*)$/gm)];
  t.same(written.map(([, , name]) => name).sort(), [...names].sort());
  t.same(
    written.filter(([, comment]) => comment === undefined),
    [],
    'a comment above each',
  );
  t.equal(example.match(/^# .+$/gm)?.length, names.length + 1, 'one line each, and one for the file');

  const values = Object.fromEntries(written.map(([, , name, value]) => [name, value]));
  t.same(readDevelopmentConfig(values), readDevelopmentConfig({}), 'a copy of it changes nothing');
  for (const [name, { default: value = '' }] of Object.entries(Environment.properties)) {
    t.equal(values[name], name === 'NODE_ENV' ? '' : String(value), `${name} shows its default`);
  }
});

t.test('without NODE_ENV it is production, which needs a database and an issuer', async (t) => {
  t.equal(readDevelopmentConfig({}).NODE_ENV, 'production');
  t.same(faultsOf({}), [
    '  DATABASE_URL must be set in production.',
    '  AUTH_ISSUER must be set in production.',
  ]);
  t.same(faultsOf({ NODE_ENV: 'test' }), ['  DATABASE_URL must be set.', '  AUTH_ISSUER must be set.']);
  t.same(faultsOf(production), []);
  t.throws(
    () => readMigrationUrl(production),
    /^The configuration is unusable:\n {2}MIGRATION_DATABASE_URL must/,
  );
  t.equal(readMigrationUrl({ MIGRATION_DATABASE_URL: production.DATABASE_URL }), production.DATABASE_URL);
});

t.test('an empty variable counts as unset', async (t) => {
  const empty = Object.fromEntries(names.map((name) => [name, '']));
  t.same(readServerConfig({}, { ...empty, ...production }), readServerConfig({}, production));
  t.same(readDevelopmentConfig(empty), readDevelopmentConfig({}));
});

t.test('the metrics have a port of their own', async (t) => {
  const same = ['  METRICS_PORT must differ from PORT.'];
  t.same(faultsOf({ ...production, PORT: '4201', METRICS_PORT: '4201' }), same);
  t.same(faultsOf({ ...production, METRICS_PORT: '3000' }), same, 'also the default port');
  t.same(faultsOf({ ...production, PORT: '0', METRICS_PORT: '4201' }), []);
  const hosts: [host: string, metricsHost: string, faults: string[]][] = [
    ['10.0.0.1', '10.0.0.2', []],
    ['localhost', '10.0.0.2', []],
    ['localhost', '127.0.0.1', same],
    ['127.0.0.1', 'localhost', same],
    ['0.0.0.0', '127.0.0.1', same],
    ['10.0.0.1', '0.0.0.0', same],
    ['::', '127.0.0.1', same],
    ['::1', '::', same],
  ];
  for (const [host, metricsHost, faults] of hosts) {
    const both = { HOST: host, METRICS_HOST: metricsHost, METRICS_PORT: '3000' };
    t.same(faultsOf({ ...production, ...both }), faults, `${host} and ${metricsHost}`);
  }
});

t.test('all faults are reported at once', async (t) => {
  const faulty = { PORT: 'x', LOG_LEVEL: 'x', AUTH_ISSUER: 'not-a-url', TEST_USER_HEADER: 'on' };
  const faults = faultsOf(faulty);
  t.match(
    faults,
    faults.map(() => /^ {2}[A-Z_]+ must .+\.$/),
  );
  t.same(faults.map((fault) => fault.split(' ')[2]).sort(), [...Object.keys(faulty), 'DATABASE_URL'].sort());
});

t.test(
  'a database URL whose password is not percent-encoded is refused, with the characters to encode',
  async (t) => {
    for (const character of ['%', '/', '#', '?']) {
      const url = (password: string) => `postgres://club_api:a${password}b@db.example.org/clubs`;
      t.match(faultsOf({ ...production, DATABASE_URL: url(character) }), [
        /DATABASE_URL must be .+ with %, \/, @, # and \? in the password percent-encoded \(.+\)\.$/,
      ]);
      t.same(faultsOf({ ...production, DATABASE_URL: url(encodeURIComponent(character)) }), [], character);
    }
  },
);

t.test('production refuses to enable the test header', async (t) => {
  for (const [environment, refused] of Object.entries({ '': true, production: true, test: false })) {
    const faulty = faultyIn({ TEST_USER_HEADER: 'on', NODE_ENV: environment });
    t.same(faulty, refused ? ['TEST_USER_HEADER'] : [], `NODE_ENV=${environment}`);
  }
});

t.test('production fetches keys over https, or over http from loopback only', async (t) => {
  const urls = {
    'http://id.example.org': false,
    'HTTP://id.example.org': false,
    'http://localhost.example.org': false,
    'http://127.0.0.1@id.example.org': false,
    'https://id.example.org': true,
    'http://127.0.0.1:9000': true,
    'http://localhost:9000': true,
    'http://[::1]:9000': true,
  };
  for (const [url, safe] of Object.entries(urls)) {
    t.same(faultyIn({ AUTH_ISSUER: url }), safe ? [] : ['AUTH_ISSUER'], url);
    t.same(faultyIn({ AUTH_JWKS_URL: url }), safe ? [] : ['AUTH_JWKS_URL'], url);
    t.same(faultyIn({ AUTH_ISSUER: url, NODE_ENV: 'development' }), [], `${url} in development`);
  }
  t.same(
    faultyIn({ AUTH_ISSUER: ' http://id.example.org' }),
    ['AUTH_ISSUER'],
    'a space does not disable the check',
  );
  const keysElsewhere = {
    AUTH_ISSUER: 'http://id.example.org',
    AUTH_JWKS_URL: 'https://id.example.org/jwks',
  };
  t.same(faultyIn(keysElsewhere), [], 'the keys must not be replaceable');
});

/** Starts a process that must fail; returns its output. */
async function run(program: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [program], { cwd: root, env });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, out, err };
}

t.test('a process with a wrong configuration says why and exits with 1', async (t) => {
  for (const [program, fault] of Object.entries({
    'dist/server.js': 'DATABASE_URL must be set in production.\n  AUTH_ISSUER must be set in production.',
    'dist/migrate.js': 'MIGRATION_DATABASE_URL must be set in production.',
  })) {
    const err = `The configuration is unusable:\n  ${fault}\n`;
    t.same(await run(program), { code: 1, out: '', err }, program);
  }
});

t.test('a start that cannot listen says at which address; the process exits with 1', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const environment = {
    ...production,
    // No database listens there; a service starts all the same.
    DATABASE_URL: 'postgres://club_api@127.0.0.1:9/club',
    LOG_LEVEL: 'silent',
  };
  const isTaken = new RegExp(`^The port ${port} is taken: .+ set PORT or METRICS_PORT to another one\\.$`);
  for (const [variables, said] of [
    [{ PORT: String(port) }, isTaken],
    [{ HOST: 'a'.repeat(64) }, /^The service cannot listen \(getaddrinfo .+ a+\): HOST, .+\.$/],
    [{ HOST: '192.0.2.1' }, /^The service cannot listen \(listen .+ 192\.0\.2\.1:3000\): HOST, .+\.$/],
  ] as [Record<string, string>, RegExp][]) {
    const error = await start(readServerConfig({ ...environment, ...variables }, {})).catch(
      (reason) => reason,
    );
    t.match(explain(error), said);
  }
  const { code, err } = await run('dist/server.js', {
    ...environment,
    ...{ PORT: '0', METRICS_HOST: '192.0.2.1', METRICS_PORT: '9' },
  });
  t.equal(code, 1);
  t.match(err, /^The service cannot listen .+:9\): .+\n$/);
});

t.test('a start that fails in a route shows the error, and does not blame the address', async (t) => {
  const config = readServerConfig({ ...production, LOG_LEVEL: 'silent', PORT: '0' }, {});
  const broken: FastifyPluginAsync = async (app) => {
    app.get('/broken', { schema: { querystring: { type: 'nothing' } } }, async () => null);
  };
  const error = await start(config, broken).catch((reason) => reason);
  t.match(error, { name: 'FastifyError', message: /schema/ });
  t.equal(explain(error), error, 'with its stack');
});

t.test('a deploy that cannot connect, or is not allowed to, says so in one sentence', async (t) => {
  const wrong = testCluster().adminUrl.replace(/:[^:@]*@/, ':wrong@');
  t.match(
    await deploy(wrong).catch(explainFailure),
    /^The database of MIGRATION_DATABASE_URL cannot be used: password authentication failed.* correct MIGRATION_DATABASE_URL, .*[^.]\.$/,
  );
  const url = 'postgres://club_migrator:x@127.0.0.1:1/club';
  const { code, out, err } = await run('dist/migrate.js', { MIGRATION_DATABASE_URL: url });
  t.same([code, out], [1, '']);
  t.match(
    err,
    /^The database of MIGRATION_DATABASE_URL cannot be used: .*ECONNREFUSED.* in MIGRATION_DATABASE_URL\.\n$/,
  );
});
