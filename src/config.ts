/**
 * The configuration: the only reader of the environment.
 *
 * Every variable is checked before anything starts, all faults are reported in one message, and combinations
 * that would be unsafe in production are refused here, so that no other module needs to know the environment.
 */
import { KindGuard } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type AuthSettings, forms, readAuthSettings } from './auth/settings.js';
import type { DatabaseOptions } from './database/database.js';
import { parseDatabaseUrl } from './database/socket.js';
import { isNetwork } from './validation/network.js';
import { isLoopback, isOrigin } from './validation/url.js';
import { Environment, type Variable, type Variables } from './variables.js';

export type DevelopmentConfig = Variables;
export type { Variable };

/** The configuration is unusable. The message names every faulty variable, a line each. */
export class ConfigurationError extends Error {
  override name = 'ConfigurationError';

  constructor(readonly faults: string[]) {
    super(`The configuration is unusable:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
  }
}

/** Whether a variable has its form, where no schema can say so. */
const FORMS: Partial<Record<Variable, (text: string) => boolean>> = {
  TRUST_PROXY: (text) => text.split(',').every(isNetwork),
  CORS_ORIGINS: (text) => text.split(',').every(isOrigin),
  ...forms,
};

/**
 * Reads the environment; an empty variable counts as unset.
 *
 * @param required variables that must be set for what the caller is about to do
 * @throws ConfigurationError naming every faulty variable
 */
function readEnvironment<Required extends Variable>(environment: NodeJS.ProcessEnv, required: Required[]) {
  const given = Object.entries(environment)
    .filter(([name, value]) => name in Environment.properties && value !== '')
    .map(([name, value]) => {
      // Only digits: TypeBox's own conversion makes 80 of 80.5, and 1 of true.
      const whole =
        KindGuard.IsInteger(Environment.properties[name as Variable]) && /^\d+$/.test(value ?? '');
      return [name, whole ? Number(value) : value];
    });
  const values = Value.Default(Environment, Object.fromEntries(given));

  const variables = values as Variables & { [name in Required]-?: NonNullable<Variables[name]> };
  const faults = findFaults(variables, required);
  if (faults.size > 0) {
    throw new ConfigurationError([...faults.values()]);
  }
  return variables;
}

/** What is wrong with the variables, by their names; each gets one sentence. */
function findFaults(variables: Variables, required: Variable[]): Map<string, string> {
  const faults = new Map<string, string>();
  for (const { path } of Value.Errors(Environment, variables)) {
    const name = path.slice(1) as Variable;
    faults.set(name, `${name} must be ${Environment.properties[name].description}.`);
  }
  for (const name of required) {
    if (variables[name] === undefined) {
      faults.set(name, `${name} must be set${variables.NODE_ENV === 'production' ? ' in production' : ''}.`);
    }
  }
  addFaultsOfForm(variables, faults);
  const { AUTH_ISSUER: issuer, AUTH_JWKS_URL: jwksUrl } = variables;
  if (issuer !== undefined && jwksUrl === undefined && !URL.canParse(issuer)) {
    faults.set('AUTH_ISSUER', 'AUTH_ISSUER must be a URL, or AUTH_JWKS_URL must be set.');
  }
  if (variables.NODE_ENV === 'production') {
    refuseUnsafe(variables, faults);
  }
  return faults;
}

/** Adds what no schema can say of a single variable. */
function addFaultsOfForm(variables: Variables, faults: Map<string, string>): void {
  for (const name of ['DATABASE_URL', 'MIGRATION_DATABASE_URL', 'AUDIT_DATABASE_URL'] as const) {
    const fault = variables[name] && faultOf(variables[name]);
    if (fault) {
      faults.set(
        name,
        `${name} must be the URL of one server, with %, / and @ in the password percent-encoded (${fault}).`,
      );
    }
  }
  for (const [name, hasForm] of Object.entries(FORMS) as [Variable, (text: string) => boolean][]) {
    if (variables[name] !== undefined && !hasForm(String(variables[name]))) {
      faults.set(name, `${name} must be ${Environment.properties[name].description}.`);
    }
  }
}

/** Why the service cannot connect to a database URL, such as an unknown sslmode; undefined when it can. */
function faultOf(url: string): string | undefined {
  try {
    parseDatabaseUrl(url);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** What is convenient on a developer's machine and a hole in production. */
function refuseUnsafe(variables: Variables, faults: Map<string, string>): void {
  if (variables.TEST_USER_HEADER === 'on') {
    faults.set(
      'TEST_USER_HEADER',
      'TEST_USER_HEADER must be off in production: it lets a caller act as another member.',
    );
  }
  const source = variables.AUTH_JWKS_URL === undefined ? 'AUTH_ISSUER' : 'AUTH_JWKS_URL';
  const url = variables[source];
  if (url !== undefined && /^\s*http:/i.test(url) && !isLoopback(url)) {
    faults.set(
      source,
      `${source} must be https in production: keys fetched over plain http can be replaced on the way.`,
    );
  }
}

/** How many reads a connection has in flight at most; 1 gives each a connection of its own. */
const READS_PER_CONNECTION = 8;

/** What the service needs. */
export interface ServerConfig {
  host: string;
  port: number;
  /** How many clients may be connected at once. */
  maxConnections: number;
  /** How often a caller may ask in one club, a minute; 0 for no limit. */
  rateLimitPerMinute: number;
  /** Where the metrics are; undefined for nowhere. */
  metrics: { host: string; port: number } | undefined;
  logLevel: string;
  database: DatabaseOptions;
  auth: AuthSettings;
  /** Proxies whose X-Forwarded-For is believed, for the address in the log; undefined for none. */
  trustProxy: string | undefined;
  /** Whose pages may read the answers; none without CORS. */
  corsOrigins: string[];
  testUserHeader: boolean;
  /** Whether a developer runs it, for whom GET / leads to the reference. */
  isDevelopment: boolean;
}

/**
 * Reads what the service needs.
 *
 * @param provided what a development command brings, over the environment
 * @throws ConfigurationError
 */
export function readServerConfig(
  provided: Partial<Record<Variable, string>> = {},
  environment: NodeJS.ProcessEnv = process.env,
): ServerConfig {
  const variables = readEnvironment({ ...environment, ...provided }, ['DATABASE_URL', 'AUTH_ISSUER']);
  return {
    // For this name Fastify would open a second server, which has neither the limits of the first nor its answers.
    host: variables.HOST === 'localhost' ? '127.0.0.1' : variables.HOST,
    port: variables.PORT,
    maxConnections: variables.MAX_CONNECTIONS,
    rateLimitPerMinute: variables.RATE_LIMIT_PER_MINUTE,
    metrics:
      variables.METRICS_PORT === undefined
        ? undefined
        : { host: variables.METRICS_HOST, port: variables.METRICS_PORT },
    logLevel: variables.LOG_LEVEL,
    database: {
      url: variables.DATABASE_URL,
      size: variables.DATABASE_POOL_SIZE,
      prepare: variables.DATABASE_PREPARE === 'on',
      readsPerConnection: READS_PER_CONNECTION,
    },
    auth: readAuthSettings(variables),
    trustProxy: variables.TRUST_PROXY,
    corsOrigins: variables.CORS_ORIGINS?.split(',') ?? [],
    testUserHeader: variables.TEST_USER_HEADER === 'on',
    isDevelopment: variables.NODE_ENV === 'development',
  };
}

/** Reads what a deploy needs: the URL of the migration login. @throws ConfigurationError */
export function readMigrationUrl(environment: NodeJS.ProcessEnv = process.env): string {
  return readEnvironment(environment, ['MIGRATION_DATABASE_URL']).MIGRATION_DATABASE_URL;
}

/** Reads what an audit needs: the URL of a login that may read the schema audit. @throws ConfigurationError */
export function readAuditUrl(environment: NodeJS.ProcessEnv = process.env): string {
  return readEnvironment(environment, ['AUDIT_DATABASE_URL']).AUDIT_DATABASE_URL;
}

/** Reads what the development commands need; nothing is required, they bring what is missing. @throws ConfigurationError */
export function readDevelopmentConfig(environment: NodeJS.ProcessEnv = process.env): DevelopmentConfig {
  return readEnvironment(environment, []);
}

/** The environment of a child process: this one's, with some variables set. */
export function environmentWith(variables: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, ...variables };
}
