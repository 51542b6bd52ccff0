/**
 * The configuration. Only this module reads environment variables.
 *
 * All variables are checked before anything starts, and one message reports all errors. Combinations that are unsafe in
 * production are rejected here, so no other module depends on NODE_ENV.
 */
import { KindGuard } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type AuthSettings, patterns, readAuthSettings } from './auth/settings.js';
import type { Haproxy } from './club-moves/haproxy.js';
import type { DatabaseOptions } from './database/database.js';
import { OperatorError } from './database/errors.js';
import { parseDatabaseUrl, SeveralHosts } from './database/socket.js';
import { distance } from './validation/closest.js';
import { readNames } from './validation/names.js';
import { isNetwork } from './validation/network.js';
import { isLoopback, isOrigin } from './validation/url.js';
import { Environment, type Variable, type Variables } from './variables.js';

export type DevelopmentConfig = Variables;
export type { Variable };

/** The configuration is invalid. The message has one line for each invalid variable. */
export class ConfigurationError extends OperatorError {
  override name = 'ConfigurationError';

  constructor(readonly errors: string[]) {
    super(`The configuration is unusable:\n${errors.map((error) => `  ${error}`).join('\n')}`);
  }
}

/** The name of a cell, which is also that of its backend in HAProxy. */
export const CELL_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** The origins of the other cells by their names; undefined when the text is invalid. */
function readCells(text: string): Map<string, string> | undefined {
  const cells = readNames(text, (origin) => (isOrigin(origin) ? origin : undefined));
  return [...(cells?.keys() ?? [])].every((name) => CELL_NAME.test(name)) ? cells : undefined;
}

/** Checks of variables that a JSON Schema cannot describe. */
const PATTERNS: Partial<Record<Variable, (text: string) => boolean>> = {
  TRUST_PROXY: (text) => text.split(',').every(isNetwork),
  CORS_ORIGINS: (text) => text.split(',').every(isOrigin),
  PUBLIC_URL: isOrigin,
  CELLS: (text) => readCells(text) !== undefined,
  ...patterns,
};

/**
 * Reads the environment; an empty variable counts as unset.
 *
 * @param required the variables that must be set
 * @throws ConfigurationError naming every invalid variable
 */
function readEnvironment<Required extends Variable>(environment: NodeJS.ProcessEnv, required: Required[]) {
  const given = Object.entries(environment)
    .filter(([name, value]) => name in Environment.properties && value !== '')
    .map(([name, value]) => {
      // Only digits: TypeBox's own conversion turns 80.5 into 80 and true into 1.
      const whole =
        KindGuard.IsInteger(Environment.properties[name as Variable]) && /^\d+$/.test(value ?? '');
      return [name, whole ? Number(value) : value];
    });
  const values = Value.Default(Environment, Object.fromEntries(given));

  const variables = values as Variables & { [name in Required]-?: NonNullable<Variables[name]> };
  const errors = findErrors(variables, required);
  if (errors.size > 0) {
    throw new ConfigurationError([...errors.values()]);
  }
  return variables;
}

/** The errors of the variables by name, one sentence each. */
function findErrors(variables: Variables, required: Variable[]): Map<string, string> {
  const errors = new Map<string, string>();
  for (const { path } of Value.Errors(Environment, variables)) {
    const name = path.slice(1) as Variable;
    errors.set(name, `${name} must be ${Environment.properties[name].description}.`);
  }
  for (const name of required) {
    if (variables[name] === undefined) {
      errors.set(name, `${name} must be set${variables.NODE_ENV === 'production' ? ' in production' : ''}.`);
    }
  }
  addPatternErrors(variables, errors);
  const { AUTH_ISSUER: issuer, AUTH_JWKS_URL: jwksUrl } = variables;
  if (issuer !== undefined && jwksUrl === undefined && !URL.canParse(issuer)) {
    errors.set('AUTH_ISSUER', 'AUTH_ISSUER must be a URL, or AUTH_JWKS_URL must be set.');
  }
  if (variables.METRICS_PORT === variables.PORT && overlap(variables.METRICS_HOST, variables.HOST)) {
    errors.set('METRICS_PORT', 'METRICS_PORT must differ from PORT.');
  }
  if (variables.NODE_ENV === 'production') {
    refuseUnsafe(variables, errors);
  }
  return errors;
}

/** The address to listen on. The name `localhost` can resolve to ::1 alone; the documentation promises 127.0.0.1. */
function addressOf(host: string): string {
  return host === 'localhost' ? '127.0.0.1' : host;
}

/** Whether two servers with one port cannot listen on both hosts: the hosts are one, or one of them means every address. */
function overlap(...hosts: [string, string]): boolean {
  const addresses = new Set(hosts.map(addressOf));
  return addresses.size === 1 || addresses.has('0.0.0.0') || addresses.has('::');
}

/** Adds the errors that a JSON Schema cannot find. */
function addPatternErrors(variables: Variables, errors: Map<string, string>): void {
  for (const name of ['DATABASE_URL', 'MIGRATION_DATABASE_URL', 'AUDIT_DATABASE_URL'] as const) {
    const error = variables[name] && errorOfUrl(name, variables[name]);
    if (error) {
      errors.set(name, error);
    }
  }
  for (const [name, matches] of Object.entries(PATTERNS) as [Variable, (text: string) => boolean][]) {
    if (variables[name] !== undefined && !matches(String(variables[name]))) {
      errors.set(name, `${name} must be ${Environment.properties[name].description}.`);
    }
  }
}

/** What is wrong with a database URL, such as an unknown sslmode; undefined when it is valid. */
function errorOfUrl(name: string, url: string): string | undefined {
  try {
    parseDatabaseUrl(url);
    return undefined;
  } catch (error) {
    if (error instanceof SeveralHosts) {
      return `${name} ${error.message}`;
    }
    return `${name} must be the URL of a database, with %, /, @, # and ? in the password percent-encoded (${(error as Error).message}).`;
  }
}

/** Adds errors for settings that are useful in development and unsafe in production. */
function refuseUnsafe(variables: Variables, errors: Map<string, string>): void {
  if (variables.TEST_USER_HEADER === 'on') {
    errors.set(
      'TEST_USER_HEADER',
      'TEST_USER_HEADER must be off in production: it lets a caller act as another member.',
    );
  }
  const source = variables.AUTH_JWKS_URL === undefined ? 'AUTH_ISSUER' : 'AUTH_JWKS_URL';
  const url = variables[source];
  if (url !== undefined && /^\s*http:/i.test(url) && !isLoopback(url)) {
    errors.set(
      source,
      `${source} must be https in production: an attacker can replace keys that are fetched over plain http.`,
    );
  }
}

/** The maximum number of shared reads in flight on a connection. */
const READS_PER_CONNECTION = 8;

/** The configuration of the service. */
export interface ServerConfig {
  host: string;
  port: number;
  /** The maximum number of client connections. */
  maxConnections: number;
  /** The maximum number of requests of a caller in one club per minute; 0 for no limit. */
  rateLimitPerMinute: number;
  /** The address of the metrics server; undefined for none. */
  metrics: { host: string; port: number } | undefined;
  logLevel: string;
  database: DatabaseOptions;
  auth: AuthSettings;
  /** The proxies whose X-Forwarded-For is trusted, for the address in the log; undefined for none. */
  trustProxy: string[] | undefined;
  /** The origin of URLs in responses, as clients reach the service; empty when it is unknown. */
  publicUrl: string;
  /** The origins whose pages may read responses; empty without CORS. */
  corsOrigins: string[];
  /** The origins of the other cells by their names; empty with one cell. */
  cells: ReadonlyMap<string, string>;
  testUserHeader: boolean;
  /** Whether NODE_ENV is development: GET / then redirects to the reference. */
  isDevelopment: boolean;
  /** What is probably a mistake, one sentence each, for the log. */
  warnings: string[];
}

/**
 * Reads the configuration of the service.
 *
 * @param provided values of a development command, which override the environment
 * @throws ConfigurationError
 */
export function readServerConfig(
  provided: Partial<Record<Variable, string>> = {},
  environment: NodeJS.ProcessEnv = process.env,
): ServerConfig {
  const variables = readEnvironment({ ...environment, ...provided }, ['DATABASE_URL', 'AUTH_ISSUER']);
  return {
    host: addressOf(variables.HOST),
    port: variables.PORT,
    maxConnections: variables.MAX_CONNECTIONS,
    rateLimitPerMinute: variables.RATE_LIMIT_PER_MINUTE,
    metrics:
      variables.METRICS_PORT === undefined
        ? undefined
        : { host: addressOf(variables.METRICS_HOST), port: variables.METRICS_PORT },
    logLevel: variables.LOG_LEVEL,
    database: {
      url: variables.DATABASE_URL,
      size: variables.DATABASE_POOL_SIZE,
      prepare: variables.DATABASE_PREPARE === 'on',
      readsPerConnection: READS_PER_CONNECTION,
    },
    auth: readAuthSettings(variables),
    trustProxy: variables.TRUST_PROXY?.split(','),
    publicUrl: variables.PUBLIC_URL ?? '',
    corsOrigins: variables.CORS_ORIGINS?.split(',') ?? [],
    cells: readCells(variables.CELLS ?? '') ?? new Map(),
    testUserHeader: variables.TEST_USER_HEADER === 'on',
    isDevelopment: variables.NODE_ENV === 'development',
    warnings: [...misspelled(environment), ...unusableAudience(variables)],
  };
}

/**
 * A warning for each variable whose name is one letter from one of this project. Never an error: an orchestrator sets variables
 * for services of the same network, whose names are not ours.
 */
function misspelled(environment: NodeJS.ProcessEnv): string[] {
  const known = Object.keys(Environment.properties);
  return Object.keys(environment)
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const meant = known.find((other) => distance(name, other) === 1);
      return meant === undefined ? [] : `The variable ${name} is unknown: is ${meant} meant?`;
    });
}

/** A warning if tokens that clients request for this resource, as RFC 8707 describes it, would be refused. */
function unusableAudience(variables: Variables): string[] {
  const { NODE_ENV, PUBLIC_URL, AUTH_AUDIENCE, AUTH_AUDIENCE_CLAIM } = variables;
  const isAccepted =
    PUBLIC_URL === undefined ||
    AUTH_AUDIENCE_CLAIM !== 'aud' ||
    AUTH_AUDIENCE.split(',').includes(PUBLIC_URL);
  return isAccepted || NODE_ENV === 'development'
    ? []
    : [
        'PUBLIC_URL is not in AUTH_AUDIENCE: if clients request tokens for this resource (RFC 8707), they are refused.',
      ];
}

/** The configuration of a deploy. */
export interface DeployConfig {
  /** The URL of the database, with the migration login. */
  url: string;
  /** The roles outside of the service to approve, and no others; undefined leaves those of an earlier deploy. */
  approve: string[] | undefined;
}

/** Reads the configuration of a deploy. @throws ConfigurationError */
export function readDeployConfig(environment: NodeJS.ProcessEnv = process.env): DeployConfig {
  const { MIGRATION_DATABASE_URL: url, APPROVE } = readEnvironment(environment, ['MIGRATION_DATABASE_URL']);
  return { url, approve: APPROVE === 'none' ? [] : APPROVE?.split(',') };
}

/** The two databases of a move, each with its migration login. */
export interface MoveConfig {
  source: string;
  target: string;
}

/** Reads the databases of a move. @throws ConfigurationError */
export function readMoveConfig(environment: NodeJS.ProcessEnv = process.env): MoveConfig {
  const variables = readEnvironment(environment, ['MIGRATION_DATABASE_URL', 'TARGET_DATABASE_URL']);
  return { source: variables.MIGRATION_DATABASE_URL, target: variables.TARGET_DATABASE_URL };
}

/** Reads where clubs are routed; undefined where an operator changes the map. @throws ConfigurationError */
export function readHaproxyConfig(environment: NodeJS.ProcessEnv = process.env): Haproxy | undefined {
  const { HAPROXY_MAP: map, HAPROXY_SOCKETS: sockets } = readEnvironment(environment, []);
  if (map === undefined && sockets === undefined) {
    return undefined;
  }
  if (map === undefined || sockets === undefined) {
    throw new ConfigurationError([
      'HAPROXY_MAP and HAPROXY_SOCKETS need each other: a route is changed in the file and in each running HAProxy.',
    ]);
  }
  return { map, sockets: sockets.split(',') };
}

/** Reads the database URL of a login that may read the schema audit. @throws ConfigurationError */
export function readAuditUrl(environment: NodeJS.ProcessEnv = process.env): string {
  return readEnvironment(environment, ['AUDIT_DATABASE_URL']).AUDIT_DATABASE_URL;
}

/** Reads the configuration of the development commands; no variable is required. @throws ConfigurationError */
export function readDevelopmentConfig(environment: NodeJS.ProcessEnv = process.env): DevelopmentConfig {
  return readEnvironment(environment, []);
}

/** The environment for a child process: that of this process with the given variables set. */
export function environmentWith(variables: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, ...variables };
}
