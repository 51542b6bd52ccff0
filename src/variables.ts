import { type Static, Type } from '@sinclair/typebox';

const Switch = Type.Union([Type.Literal('on'), Type.Literal('off')], { description: 'on or off' });
const PostgresUrl = Type.String({ pattern: '^postgres(ql)?://.+', description: 'a postgres:// URL' });
const WebUrl = Type.String({ pattern: '^https?://[^/\\s]+', description: 'an http:// or https:// URL' });

/** Every environment variable of the project, with its default; `.env.example` describes each. */
export const Environment = Type.Object({
  HOST: Type.String({ minLength: 1, default: '127.0.0.1', description: 'an address to listen on' }),
  PORT: Type.Integer({ minimum: 0, maximum: 65_535, default: 3000, description: 'a port, 0 to 65535' }),
  MAX_CONNECTIONS: Type.Integer({
    minimum: 1,
    maximum: 65_535,
    default: 1_000,
    description: 'a number, 1 to 65535',
  }),
  RATE_LIMIT_PER_MINUTE: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 600,
    description: 'a number, 0 to 1000000',
  }),
  METRICS_HOST: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: 'an address to listen on',
  }),
  METRICS_PORT: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 65_535, description: 'a port, 1 to 65535' }),
  ),
  LOG_LEVEL: Type.Union(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((level) => Type.Literal(level)),
    { default: 'info', description: 'fatal, error, warn, info, debug, trace or silent' },
  ),
  NODE_ENV: Type.Union([Type.Literal('development'), Type.Literal('test'), Type.Literal('production')], {
    default: 'production',
    description: 'development, test or production',
  }),
  DATABASE_URL: Type.Optional(PostgresUrl),
  MIGRATION_DATABASE_URL: Type.Optional(PostgresUrl),
  TARGET_DATABASE_URL: Type.Optional(PostgresUrl),
  HAPROXY_MAP: Type.Optional(Type.String({ pattern: '^/\\S+$', description: 'the path of a file' })),
  HAPROXY_SOCKETS: Type.Optional(
    Type.String({
      pattern: '^[^,\\s]+(,[^,\\s]+)*$',
      description: 'paths or host:port with commas and no blanks between',
    }),
  ),
  AUDIT_DATABASE_URL: Type.Optional(PostgresUrl),
  APPROVE: Type.Optional(
    Type.String({
      pattern: '^[^,\\s][^,]*(,[^,\\s][^,]*)*$',
      description: 'names of roles with commas and no blanks between, or none',
    }),
  ),
  DATABASE_POOL_SIZE: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 5,
    description: 'a number, 1 to 100',
  }),
  DATABASE_PREPARE: { ...Switch, default: 'on' },
  EMBEDDED_DATA_DIR: Type.String({ minLength: 1, default: '.data', description: 'a directory' }),
  AUTH_ISSUER: Type.Optional(Type.String({ minLength: 1, description: 'the issuer of the tokens' })),
  AUTH_AUDIENCE: Type.String({
    minLength: 1,
    default: 'club-management-service',
    description: 'an audience, or several with commas between',
  }),
  AUTH_AUDIENCE_CLAIM: Type.Union([Type.Literal('aud'), Type.Literal('client_id')], {
    default: 'aud',
    description: 'aud or client_id',
  }),
  AUTH_JWKS_URL: Type.Optional(WebUrl),
  AUTH_CLUBS_CLAIM: Type.String({
    pattern: '\\S',
    default: 'clubs',
    description: 'the name of a claim, or a JSON Pointer such as /realm_access/roles',
  }),
  AUTH_CLUBS_JSON: { ...Switch, default: 'off' },
  AUTH_CLUBS_PATTERN: Type.Optional(
    Type.String({ description: 'a regular expression with the groups (?<club>…) and (?<role>…)' }),
  ),
  AUTH_CLUB_NAMES: Type.Optional(
    Type.String({ description: 'name=<club id> with commas between, each name once' }),
  ),
  AUTH_ROLE_NAMES: Type.Optional(
    Type.String({
      description: 'word=Viewer, Member, Manager or Admin with commas and no blanks between, each word once',
    }),
  ),
  TEST_DATABASE_URL: Type.Optional(PostgresUrl),
  TEST_POSTGRES_BIN: Type.Optional(
    Type.String({ pattern: '^/', description: 'the absolute path of a directory' }),
  ),
  TRUST_PROXY: Type.Optional(
    Type.String({
      description: 'addresses or networks with commas between, such as 10.0.0.0/8',
    }),
  ),
  PUBLIC_URL: Type.Optional(
    Type.String({ description: 'an origin without a path, such as https://clubs.example.org' }),
  ),
  CORS_ORIGINS: Type.Optional(
    Type.String({
      description: 'origins as browsers send them, with commas between, such as https://app.example.org',
    }),
  ),
  CELLS: Type.Optional(
    Type.String({
      description:
        'name=origin with commas and no blanks between, each name once and of lower-case letters, digits and hyphens, such as west=http://10.0.2.1:3000',
    }),
  ),
  TEST_USER_HEADER: { ...Switch, default: 'off' },
});

/** The values of checked variables. */
export type Variables = Static<typeof Environment>;
export type Variable = keyof Variables;
