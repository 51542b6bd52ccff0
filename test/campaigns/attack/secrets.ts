/** Secrets are in no log line and in no error, for every kind of failure. */
import { pino } from 'pino';
import { buildApp } from '../../../src/app.js';
import { ConfigurationError, readServerConfig } from '../../../src/config.js';
import { Database } from '../../../src/database/database.js';
import { freePort } from '../../setup/free-port.js';
import { AUDIENCE } from '../../setup/issuer.js';
import { sendTo } from '../../setup/send.js';
import type { TestService } from '../../setup/service.js';
import { eachOf } from './operations.js';
import type { Tally } from './tally.js';

const SECRET = 'quite-a-secret-q7z';

/** Sends requests to services that fail for different reasons, and searches their output for secrets. */
export async function attackSecrets(service: TestService, clubId: string, tally: Tally): Promise<void> {
  const token = service.token({ sub: 'anna', name: 'anna', clubs: { [clubId]: 'Admin' } });
  const url = new URL(service.db.url);
  const at = (change: (url: URL) => void) => {
    const other = new URL(url);
    change(other);
    return other.href;
  };
  const port = await freePort();
  const secretUrl = (path: string) => `http://${SECRET}:${SECRET}@127.0.0.1:${port}/${path}?key=${SECRET}`;
  const cases: Record<string, Record<string, string>> = {
    'a wrong password': { DATABASE_URL: at((other) => (other.password = SECRET)) },
    'an unknown user': {
      DATABASE_URL: at((other) => Object.assign(other, { username: 'unknown', password: SECRET })),
    },
    'an unknown database': { DATABASE_URL: at((other) => (other.pathname = '/unknown')) },
    'no server': {
      DATABASE_URL: at((other) => Object.assign(other, { port: String(port), password: SECRET })),
    },
    'no host': {
      DATABASE_URL: at((other) => Object.assign(other, { hostname: 'nowhere.invalid', password: SECRET })),
    },
    'keys from nowhere': { AUTH_JWKS_URL: `http://127.0.0.1:${port}/${SECRET}?key=${SECRET}` },
    'keys behind a password': { AUTH_JWKS_URL: secretUrl('jwks') },
    'an issuer behind a password': { AUTH_ISSUER: secretUrl('') },
    'keys that are none': { AUTH_JWKS_URL: `${service.issuer.url}/${SECRET}` },
  };
  await eachOf(Object.entries(cases), async ([name, environment]) => {
    const lines: string[] = [];
    const output = await runBroken(
      { ...configurationOf(service), ...environment },
      lines,
      token,
      clubId,
      tally,
    );
    const secrets = [
      SECRET,
      url.password,
      token,
      ...token.split('.'),
      String(service.issuer.keys.ES256.privateKey.export({ format: 'jwk' }).d),
    ];
    for (const [where, text] of [
      ['log', lines.join('')],
      ['response', output],
    ] as const) {
      const shown = secrets.filter((secret) => text.includes(secret));
      tally.leaks.push(
        ...shown.map((secret) => `${name}, in the ${where}: ${secret}: ${text.slice(0, 2_000)}`),
      );
    }
    for (const line of lines) {
      tally.succeeded.push(...(isRecord(line) ? [] : [`${name}: not one JSON object: ${line}`]));
    }
  });
}

const configurationOf = (service: TestService): Record<string, string> => ({
  NODE_ENV: 'test',
  LOG_LEVEL: 'trace',
  DATABASE_URL: service.db.url,
  AUTH_ISSUER: service.issuer.url,
  AUTH_AUDIENCE: AUDIENCE,
});

/** All output of a service with this configuration: at its start, and to requests. */
async function runBroken(
  environment: Record<string, string>,
  lines: string[],
  token: string,
  clubId: string,
  tally: Tally,
): Promise<string> {
  const output: string[] = [];
  let close = async () => {};
  try {
    const config = readServerConfig(environment, {});
    const database = new Database(config.database);
    close = () => database.close();
    const logger = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
    const auditTimes = { everyMs: 60_000, retryMs: 50, staleAfterMs: 600_000 };
    const { app } = await buildApp({ config, database, logger, auditTimes });
    close = async () => {
      await app.close();
      await database.close();
    };
    const send = sendTo(app);
    const calendar = `/calendars/${clubId}/${SECRET.padEnd(43, 'A')}.ics`;
    for (const path of ['/readyz', '/api/tasks', '/api/clubs/me', '/api/members/me', calendar, '/livez']) {
      tally.tried += 1;
      const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': clubId, 'idempotency-key': SECRET };
      const response = await send('GET', path, { headers });
      output.push(JSON.stringify(response.headers), response.text);
      if (response.status === 500) {
        tally.serverErrors.push(`${path}: ${response.text}`);
      }
    }
  } catch (error) {
    if (!(error instanceof ConfigurationError)) {
      throw error;
    }
    tally.tried += 1;
    output.push(error.message);
  } finally {
    await close();
  }
  return output.join('\n');
}

/** Whether a line is exactly one JSON object. */
export function isRecord(line: string): boolean {
  try {
    return (
      line.endsWith('\n') && !line.slice(0, -1).includes('\n') && line.startsWith('{') && !!JSON.parse(line)
    );
  } catch {
    return false;
  }
}
