import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { FastifyPluginAsync } from 'fastify';
import t from 'tap';
import { readDeployConfig, readDevelopmentConfig, readServerConfig } from '../../src/config.js';
import { explain } from '../../src/database/errors.js';
import { deploy } from '../../src/deploy/deploy.js';
import { start } from '../../src/start.js';
import { Environment } from '../../src/variables.js';
import { root } from '../../tools/root.js';
import { configErrors, invalidVariables, production } from '../setup/config.js';
import { testCluster } from '../setup/database.js';

const names = Object.keys(Environment.properties);

t.test('every setting is read, and the settings of a command override the environment', async (t) => {
  const environment = {
    ...production,
    HOST: '0.0.0.0',
    TRUST_PROXY: '10.0.0.0/8',
    PUBLIC_URL: 'https://clubs.example.org',
    CORS_ORIGINS: 'https://app.example.org,http://localhost:5173',
    CELLS: 'west=http://10.0.2.1:3000,east-2=https://east.internal',
    PORT: '0',
    MAX_CONNECTIONS: '65535',
    RATE_LIMIT_PER_MINUTE: '0',
    METRICS_HOST: '10.0.0.1',
    METRICS_PORT: '9464',
    LOG_LEVEL: 'silent',
    NODE_ENV: 'test',
    DATABASE_POOL_SIZE: '100',
    DATABASE_PREPARE: 'off',
    AUTH_AUDIENCE: 'clubs-api,clubs-app',
    AUTH_AUDIENCE_CLAIM: 'client_id',
    AUTH_JWKS_URL: 'https://keys.example.org/jwks',
    AUTH_CLUBS_CLAIM: 'https://example.org/clubs',
    AUTH_CLUBS_JSON: 'on',
    AUTH_CLUB_NAMES: 'north=11111111-1111-4111-8111-1111111111AA,a=b=22222222-2222-4222-8222-222222222222',
    AUTH_ROLE_NAMES: 'player=Member,Admin=Viewer',
    TEST_USER_HEADER: 'on',
  };
  t.same(readServerConfig({ AUTH_ISSUER: 'https://other.example.org' }, environment), {
    host: '0.0.0.0',
    port: 0,
    maxConnections: 65_535,
    rateLimitPerMinute: 0,
    metrics: { host: '10.0.0.1', port: 9_464 },
    trustProxy: ['10.0.0.0/8'],
    publicUrl: 'https://clubs.example.org',
    corsOrigins: ['https://app.example.org', 'http://localhost:5173'],
    cells: new Map([
      ['west', 'http://10.0.2.1:3000'],
      ['east-2', 'https://east.internal'],
    ]),
    logLevel: 'silent',
    database: { url: production.DATABASE_URL, size: 100, readsPerConnection: 8, prepare: false },
    auth: {
      issuer: 'https://other.example.org',
      audiences: ['clubs-api', 'clubs-app'],
      audienceClaim: 'client_id',
      jwksUrl: 'https://keys.example.org/jwks',
      clubs: {
        name: 'https://example.org/clubs',
        json: true,
        pattern: undefined,
        clubNames: new Map([
          ['north', '11111111-1111-4111-8111-1111111111aa'],
          ['a=b', '22222222-2222-4222-8222-222222222222'],
        ]),
        roleNames: new Map([
          ['player', 'Member'],
          ['Admin', 'Viewer'],
        ]),
      },
    },
    testUserHeader: true,
    isDevelopment: false,
    warnings: [],
  });
});

t.test('a PUBLIC_URL that is not an accepted audience is a warning, except in development', async (t) => {
  const PUBLIC_URL = 'https://clubs.example.org';
  const warnings = (variables: Record<string, string>) =>
    readServerConfig({}, { ...production, PUBLIC_URL, ...variables }).warnings.length;
  t.match(readServerConfig({}, { ...production, PUBLIC_URL }).warnings, [
    /^PUBLIC_URL is not in AUTH_AUDIENCE: /,
  ]);
  t.equal(warnings({ AUTH_AUDIENCE: `clubs,${PUBLIC_URL}` }), 0);
  t.equal(warnings({ AUTH_AUDIENCE_CLAIM: 'client_id' }), 0);
  t.equal(warnings({ NODE_ENV: 'development' }), 0);
});

t.test('a variable whose name is one letter from a known one is a warning, and no error', async (t) => {
  const warningsOf = (name: string) =>
    readServerConfig({}, { ...production, [name]: 'x' }).warnings.map((text) => text.split(' ')[2]);
  for (const name of [
    'DATABASE_POOLSIZE',
    'AUTH_ISSUERS',
    'TRUST_PROXI',
    'XPORT',
    'PUBLIC_UR',
    'LGO_LEVEL',
  ]) {
    t.same(warningsOf(name), [name]);
  }
  for (const name of ['DATABASE_PORT', 'AUTH_SERVICE_HOST', 'PATH', 'POST_X', 'HTTP_PORT']) {
    t.same(warningsOf(name), [], name);
  }
  t.same(readServerConfig({}, { ...production, AUTH_ISUER: 'x' }).warnings, [
    'The variable AUTH_ISUER is unknown: is AUTH_ISSUER meant?',
  ]);
});

t.test('localhost is 127.0.0.1, even if the name resolves to ::1', async (t) => {
  const { host } = readServerConfig({ ...production, HOST: 'localhost' }, {});
  t.equal(host, '127.0.0.1');
});

t.test('only NODE_ENV=development is development', (t) => {
  for (const [name, isDevelopment] of [
    ['development', true],
    ['test', false],
    ['production', false],
  ] as const) {
    t.equal(readServerConfig({}, { ...production, NODE_ENV: name }).isDevelopment, isDevelopment, name);
  }
  t.end();
});

t.test('without NODE_ENV it is production, which needs a database and an issuer', async (t) => {
  t.equal(readDevelopmentConfig({}).NODE_ENV, 'production');
  t.same(configErrors({}), [
    '  DATABASE_URL must be set in production.',
    '  AUTH_ISSUER must be set in production.',
  ]);
  t.same(configErrors({ NODE_ENV: 'test' }), ['  DATABASE_URL must be set.', '  AUTH_ISSUER must be set.']);
  t.same(configErrors(production), []);
  t.throws(
    () => readDeployConfig(production),
    /^The configuration is unusable:\n {2}MIGRATION_DATABASE_URL must/,
  );
  const MIGRATION_DATABASE_URL = production.DATABASE_URL;
  t.equal(readDeployConfig({ MIGRATION_DATABASE_URL }).url, MIGRATION_DATABASE_URL);
});

t.test('a deploy approves the roles of APPROVE, none of them, or leaves the list', async (t) => {
  const approvedBy = (variables: Record<string, string>) =>
    readDeployConfig({ MIGRATION_DATABASE_URL: production.DATABASE_URL, ...variables }).approve;
  t.equal(approvedBy({}), undefined);
  t.same(approvedBy({ APPROVE: 'anna,Back Up' }), ['anna', 'Back Up']);
  t.same(approvedBy({ APPROVE: 'none' }), []);
  for (const APPROVE of ['anna, backup', 'anna,', ',anna', 'anna,,backup']) {
    t.throws(
      () => approvedBy({ APPROVE }),
      /^The configuration is unusable:\n {2}APPROVE must be names of roles/,
    );
  }
});

t.test('an empty variable counts as unset', async (t) => {
  const empty = Object.fromEntries(names.map((name) => [name, '']));
  t.same(readServerConfig({}, { ...empty, ...production }), readServerConfig({}, production));
  t.same(readDevelopmentConfig(empty), readDevelopmentConfig({}));
});

t.test('.env.example has every variable once, each with a comment and the default of the code', async (t) => {
  const example = await readFile(join(root, '.env.example'), 'utf8');
  const written = [...example.matchAll(/^(# .+\n)?([A-Z_]+)=(.*)$/gm)];
  t.same(written.map(([, , name]) => name).sort(), [...names].sort());
  t.same(
    written.filter(([, comment]) => comment === undefined),
    [],
    'a comment above each',
  );

  const values = Object.fromEntries(written.map(([, , name, value]) => [name, value]));
  t.same(readDevelopmentConfig(values), readDevelopmentConfig({}), 'a copy of it changes nothing');
  for (const [name, { default: value = '' }] of Object.entries(Environment.properties)) {
    t.equal(values[name], name === 'NODE_ENV' ? '' : String(value), `${name} shows its default`);
  }
});

t.test('an invalid value is refused with the name of its variable', async (t) => {
  const north = 'north=11111111-1111-4111-8111-111111111111';
  const invalid = {
    PORT: ['-1', '65536', '80.5', 'http', '80 or so', 'true'],
    MAX_CONNECTIONS: ['0', '-1', '65536', '1e3', 'none'],
    RATE_LIMIT_PER_MINUTE: ['-1', '1000001', '1.5', 'off'],
    METRICS_PORT: ['0', '65536', 'on'],
    LOG_LEVEL: ['verbose', 'INFO'],
    NODE_ENV: ['prod', 'Production'],
    DATABASE_URL: ['mysql://localhost/club', 'localhost'],
    DATABASE_POOL_SIZE: ['0', '101', '1.5'],
    DATABASE_PREPARE: ['true', 'ON'],
    AUTH_ISSUER: ['not-a-url'],
    AUTH_AUDIENCE: [',', 'a,', 'a, b', ' a'],
    AUTH_AUDIENCE_CLAIM: ['azp', 'AUD'],
    AUTH_CLUBS_CLAIM: ['/a~b', '/~', '/~2', ' ', '\t'],
    AUTH_CLUBS_JSON: ['yes', '1'],
    AUTH_CLUBS_PATTERN: [
      '^/clubs/([^/]+)/([^/]+)$', '(?<club>.+)', '(?<role>.+)', '(?<club>.+/(?<role>.+)', '(?<Club>.+)/(?<Role>.+)',
      '(?<club>a)|(?<club>b)(?<role>c)', '(?<club>.)(?<role>.))|(?:.+',
    ],
    AUTH_CLUB_NAMES: [
      'north', 'north=', '=11111111-1111-4111-8111-111111111111', 'north=south', ',', `${north},`, `${north},${north}`,
      ` ${north}`, `south=1, ${north}`, `${north};south=x`,
    ],
    AUTH_ROLE_NAMES: ['player', 'player=', '=Member', 'player=member', 'player=Member,player=Admin', 'a=b,'],
    AUTH_JWKS_URL: ['ftp://keys.example.org', 'keys'],
    TEST_POSTGRES_BIN: ['bin', '../postgresql/bin'],
    TRUST_PROXY: [
      'true', 'proxy.example.org', '999.0.0.1', '10.1.2', '10.0.0.0/33', '10.0.0.0/0', 'fd00::/129', '10.0.0.1/8/8',
      '10.0.0.1,',
    ],
    CORS_ORIGINS: [
      '*', 'null', 'app.example.org', 'https://', 'ftp://app.example.org', 'https://*.example.org',
      'https://app.example.org/', 'https://App.example.org', 'https://app.example.org:443', 'http://a:b@c',
      'https://app.example.org, https://b.example.org', 'https://app.example.org,', 'https://a.example/x',
    ],
    PUBLIC_URL: [
      'clubs.example.org', 'ftp://clubs.example.org', 'https://clubs.example.org/', 'https://clubs.example.org/clubs',
      'https://clubs.example.org?', 'https://a:b@clubs.example.org', 'https://a.example.org,https://b.example.org',
    ],
    CELLS: [
      'west', 'west=', '=http://a', 'http://a', 'west=10.0.2.1:3000', 'West=http://a', 'we_st=http://a', 'we st=http://a', 'wést=http://a', 'west-=http://a', '-west=http://a',
      'west=http://a,west=http://b', 'west=http://a,', ',', 'west=http://a, east=http://b', 'west=http://a;east=http://b',
      'west=http://a/', 'west=http://a/api', 'west=http://a?b', 'west=http://a?b=c', 'west=http://a#b', 'west=http://u:p@a',
      'west=http://u@a', 'west=ftp://a', 'west=https://a:443', 'west=http://A', 'west=http://', 'west=http://*.a',
    ],
    TEST_USER_HEADER: ['true', 'yes'],
  }; // biome-ignore format: lists of values
  for (const [name, values] of Object.entries(invalid)) {
    for (const value of values) {
      t.same(invalidVariables({ [name]: value }), [name], `${name}=${value}`);
    }
  }
  t.same(invalidVariables({ TRUST_PROXY: '10.0.0.1,192.168.0.0/16,::1,fd00::/8,::ffff:10.0.0.1/128' }), []);
  t.same(invalidVariables({ AUTH_ISSUER: 'not-a-url', AUTH_JWKS_URL: 'https://keys.example.org/jwks' }), []);
});

t.test('all errors are reported at once', async (t) => {
  const invalid = { PORT: 'x', LOG_LEVEL: 'x', AUTH_ISSUER: 'not-a-url', TEST_USER_HEADER: 'on' };
  const errors = configErrors(invalid);
  for (const error of errors) {
    t.match(error, /^ {2}[A-Z_]+ must .+\.$/);
  }
  t.same(errors.map((error) => error.split(' ')[2]).sort(), [...Object.keys(invalid), 'DATABASE_URL'].sort());
});

t.test(
  'a database URL whose password is not percent-encoded is refused, with the characters to encode',
  async (t) => {
    for (const character of ['%', '/', '#', '?']) {
      const url = (password: string) => `postgres://club_api:a${password}b@db.example.org/clubs`;
      t.match(configErrors({ ...production, DATABASE_URL: url(character) }), [
        /DATABASE_URL must be .+ with %, \/, @, # and \? in the password percent-encoded \(.+\)\.$/,
      ]);
      t.same(
        configErrors({ ...production, DATABASE_URL: url(encodeURIComponent(character)) }),
        [],
        character,
      );
    }
  },
);

t.test('a list of hosts in a database URL is refused, with HAProxy as the way to the primary', async (t) => {
  for (const hosts of ['one,two', 'one:5432,two:5432', 'u:p@one,two', '[::1]:1,[::1]:2', 'one,', ',one']) {
    for (const name of ['DATABASE_URL', 'MIGRATION_DATABASE_URL', 'AUDIT_DATABASE_URL']) {
      for (const rest of ['', '/d?target_session_attrs=primary']) {
        t.match(configErrors({ ...production, [name]: `postgres://${hosts}${rest}` }), [
          new RegExp(
            `^  ${name} names several hosts\\. Name one: .+ HAProxy, which leads to the primary \\(.+\\)\\.$`,
          ),
        ]);
      }
    }
  }
  t.same(configErrors({ ...production, DATABASE_URL: 'postgres://u:a,b@one/d?options=a,b' }), []);
});

t.test('a database URL can require the primary, or a server that accepts writes', async (t) => {
  const errorsOf = (role: string) =>
    configErrors({ ...production, DATABASE_URL: `postgres://u@one/d?target_session_attrs=${role}` });
  for (const role of ['any', 'primary', 'read-write']) {
    t.same(errorsOf(role), []);
  }
  for (const role of ['', 'standby', 'Primary', 'any,primary']) {
    t.match(errorsOf(role), [/target_session_attrs must be one of any, primary, read-write/]);
  }
});

t.test('the metrics have a separate port', async (t) => {
  const same = ['  METRICS_PORT must differ from PORT.'];
  t.same(configErrors({ ...production, PORT: '4201', METRICS_PORT: '4201' }), same);
  t.same(configErrors({ ...production, METRICS_PORT: '3000' }), same, 'also the default port');
  t.same(configErrors({ ...production, PORT: '0', METRICS_PORT: '4201' }), []);
  const hosts: [host: string, metricsHost: string, errors: string[]][] = [
    ['10.0.0.1', '10.0.0.2', []],
    ['localhost', '10.0.0.2', []],
    ['localhost', '127.0.0.1', same],
    ['127.0.0.1', 'localhost', same],
    ['0.0.0.0', '127.0.0.1', same],
    ['10.0.0.1', '0.0.0.0', same],
    ['::', '127.0.0.1', same],
    ['::1', '::', same],
  ];
  for (const [host, metricsHost, errors] of hosts) {
    const both = { HOST: host, METRICS_HOST: metricsHost, METRICS_PORT: '3000' };
    t.same(configErrors({ ...production, ...both }), errors, `${host} and ${metricsHost}`);
  }
});

t.test('production refuses to enable the test header', async (t) => {
  for (const [environment, refused] of Object.entries({ '': true, production: true, test: false })) {
    const invalid = invalidVariables({ TEST_USER_HEADER: 'on', NODE_ENV: environment });
    t.same(invalid, refused ? ['TEST_USER_HEADER'] : [], `NODE_ENV=${environment}`);
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
    t.same(invalidVariables({ AUTH_ISSUER: url }), safe ? [] : ['AUTH_ISSUER'], url);
    t.same(invalidVariables({ AUTH_JWKS_URL: url }), safe ? [] : ['AUTH_JWKS_URL'], url);
    t.same(invalidVariables({ AUTH_ISSUER: url, NODE_ENV: 'development' }), [], `${url} in development`);
  }
  t.same(
    invalidVariables({ AUTH_ISSUER: ' http://id.example.org' }),
    ['AUTH_ISSUER'],
    'a space does not disable the check',
  );
  const keysElsewhere = {
    AUTH_ISSUER: 'http://id.example.org',
    AUTH_JWKS_URL: 'https://id.example.org/jwks',
  };
  t.same(invalidVariables(keysElsewhere), [], 'the keys must not be replaceable');
});

/** Starts a process that must fail; returns its output. */
async function run(program: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [program], { cwd: root, env });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, out, err };
}

t.test('a process with a wrong configuration gives the reason and exits with 1', async (t) => {
  for (const [program, cause] of Object.entries({
    'dist/server.js': 'DATABASE_URL must be set in production.\n  AUTH_ISSUER must be set in production.',
    'dist/migrate.js': 'MIGRATION_DATABASE_URL must be set in production.',
  })) {
    const err = `The configuration is unusable:\n  ${cause}\n`;
    t.same(await run(program), { code: 1, out: '', err }, program);
  }
});

t.test('a start that cannot listen gives the address; the process exits with 1', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const environment = {
    ...production,
    // No database listens there; a service starts anyway.
    DATABASE_URL: 'postgres://club_api@127.0.0.1:9/club',
    LOG_LEVEL: 'silent',
  };
  const isTaken = new RegExp(`^The port ${port} is taken: .+ set PORT or METRICS_PORT to another one\\.$`);
  for (const [variables, message] of [
    [{ PORT: String(port) }, isTaken],
    [{ HOST: 'a'.repeat(64) }, /^The service cannot listen \(getaddrinfo .+ a+\): HOST, .+\.$/],
    [{ HOST: '192.0.2.1' }, /^The service cannot listen \(listen .+ 192\.0\.2\.1:3000\): HOST, .+\.$/],
  ] as [Record<string, string>, RegExp][]) {
    const error = await start(readServerConfig({ ...environment, ...variables }, {})).catch(
      (reason) => reason,
    );
    t.match(explain(error), message);
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

t.test('a deploy that cannot connect, or is not allowed to, reports it in one sentence', async (t) => {
  const wrong = testCluster().adminUrl.replace(/:[^:@]*@/, ':wrong@');
  t.match(
    await deploy(wrong).catch(explain),
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
