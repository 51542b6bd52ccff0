import t from 'tap';
import { readServerConfig } from '../../src/config.js';
import { faultyIn, production } from '../setup/faults.js';

t.test('every setting is read, and the settings of a command override the environment', async (t) => {
  const environment = {
    ...production,
    HOST: '0.0.0.0',
    TRUST_PROXY: '10.0.0.0/8',
    CORS_ORIGINS: 'https://app.example.org,http://localhost:5173',
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
    corsOrigins: ['https://app.example.org', 'http://localhost:5173'],
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
  });
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

t.test('an invalid value is refused with the name of its variable', async (t) => {
  const named = 'north=11111111-1111-4111-8111-111111111111';
  const unfit = {
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
    AUTH_CLUBS_CLAIM: ['/a~b', '/~', '/~2'],
    AUTH_CLUBS_JSON: ['yes', '1'],
    AUTH_CLUBS_PATTERN: [
      '^/clubs/([^/]+)/([^/]+)$',
      '(?<club>.+)',
      '(?<role>.+)',
      '(?<club>.+/(?<role>.+)',
      '(?<Club>.+)/(?<Role>.+)',
      '(?<club>a)|(?<club>b)(?<role>c)',
      '(?<club>.)(?<role>.))|(?:.+',
    ],
    AUTH_CLUB_NAMES: [
      ...['north', 'north=', '=11111111-1111-4111-8111-111111111111', 'north=south', ','],
      ...[`${named},`, `${named},${named}`, ` ${named}`, `south=1, ${named}`, `${named};south=x`],
    ],
    AUTH_ROLE_NAMES: ['player', 'player=', '=Member', 'player=member', 'player=Member,player=Admin', 'a=b,'],
    AUTH_JWKS_URL: ['ftp://keys.example.org', 'keys'],
    TEST_POSTGRES_BIN: ['bin', '../postgresql/bin'],
    TRUST_PROXY:
      'true proxy.example.org 999.0.0.1 10.1.2 10.0.0.0/33 10.0.0.0/0 fd00::/129 10.0.0.1/8/8 10.0.0.1,'.split(
        ' ',
      ),
    CORS_ORIGINS: [
      ...['*', 'null', 'app.example.org', 'https://', 'ftp://app.example.org', 'https://*.example.org'],
      ...[
        'https://app.example.org/',
        'https://App.example.org',
        'https://app.example.org:443',
        'http://a:b@c',
      ],
      ...[
        'https://app.example.org, https://b.example.org',
        'https://app.example.org,',
        'https://a.example/x',
      ],
    ],
    TEST_USER_HEADER: ['true', 'yes'],
  };
  for (const [name, values] of Object.entries(unfit)) {
    for (const value of values) {
      t.same(faultyIn({ [name]: value }), [name], `${name}=${value}`);
    }
  }
  t.same(faultyIn({ TRUST_PROXY: '10.0.0.1,192.168.0.0/16,::1,fd00::/8,::ffff:10.0.0.1/128' }), []);
  t.same(faultyIn({ AUTH_ISSUER: 'not-a-url', AUTH_JWKS_URL: 'https://keys.example.org/jwks' }), []);
});

t.test('localhost is 127.0.0.1, also where the name resolves to ::1', async (t) => {
  const { host } = readServerConfig({ ...production, HOST: 'localhost' }, {});
  t.equal(host, '127.0.0.1');
});
