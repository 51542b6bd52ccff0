/**
 * `make run`: starts the service on a developer's machine, with everything that it needs.
 *
 * In production the operator provides the database, the deploy and the token issuer; this command provides them through
 * the same settings. It runs only with NODE_ENV=development. The service never imports this folder.
 */
import { type AddressInfo, createServer, isIPv6 } from 'node:net';
import {
  ConfigurationError,
  type DevelopmentConfig,
  readDevelopmentConfig,
  readServerConfig,
} from '../src/config.js';
import { explain, OperatorError } from '../src/database/errors.js';
import { CannotListen, start } from '../src/start.js';
import { loadDemo } from './demo.js';
import { openDatabase } from './development-database.js';
import { demoDocs } from './docs/people.js';
import { type Issuer, isServed, readIssuer, signToken, startIssuer } from './issuer.js';
import { claimsOf, demoClubs, demoRoles, ownClaims } from './people.js';

type Stop = () => Promise<void>;

/** Another `make run` uses the directory. */
class AlreadyRunning extends OperatorError {}

async function run(config: DevelopmentConfig, stops: Stop[]): Promise<void> {
  if (config.NODE_ENV !== 'development') {
    throw new ConfigurationError(['NODE_ENV must be development for make run. In production: npm start.']);
  }
  const port = await findPort(config);
  await requireUnused(config);

  // It comes first, because requireUnused() of another `make run` asks for it.
  let issuer: Issuer | undefined;
  if (config.AUTH_ISSUER === undefined) {
    const started = await startIssuer(config.EMBEDDED_DATA_DIR);
    issuer = started.issuer;
    stops.unshift(started.stop);
  }

  const database = await openDatabase(config, 'deployed');
  stops.unshift(database.stop);
  if (database.migrationUrl !== undefined) {
    const adminUrl = database.embedded ? database.adminUrl : undefined;
    const loading = loadDemo({ url: database.url, migrationUrl: database.migrationUrl, adminUrl });
    // Ctrl-C waits for it: it loads the data once, so the next start would leave out the rest.
    stops.unshift(() => loading.catch(() => {}));
    await loading;
  }

  const host = isIPv6(config.HOST) ? `[${config.HOST}]` : config.HOST;
  const url = `http://${host}:${port}`;
  const provided = {
    PORT: String(port),
    PUBLIC_URL: config.PUBLIC_URL ?? new URL(url).origin,
    DATABASE_URL: database.url,
    ...(issuer && { AUTH_ISSUER: issuer.url, ...ownClaims }),
  };
  const people = issuer && demoDocs(issuer, config.AUTH_AUDIENCE.split(','));
  const close = await start(readServerConfig(provided), people);
  stops.unshift(() => close({ drainMs: 0, finishMs: 1_000 }));
  console.log(await welcome(url, config, issuer));
}

/**
 * Finds the port to listen on: PORT, or a free one if that is 0. It runs before anything else starts, so that a second
 * `make run` fails without a change.
 */
function findPort({ HOST, PORT }: DevelopmentConfig): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => reject(new CannotListen(error)));
    probe.listen(PORT, HOST, () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}

/**
 * Two of them with one directory would replace each other's issuer, and the first to stop would stop the database of both.
 *
 * @throws AlreadyRunning
 */
async function requireUnused({ EMBEDDED_DATA_DIR }: DevelopmentConfig): Promise<void> {
  const issuer = await readIssuer(EMBEDDED_DATA_DIR);
  if (issuer !== undefined && (await isServed(issuer))) {
    throw new AlreadyRunning(
      `make run is running already with ${EMBEDDED_DATA_DIR}. Stop it, or set EMBEDDED_DATA_DIR and PORT for a second one.`,
    );
  }
}

async function welcome(url: string, config: DevelopmentConfig, issuer: Issuer | undefined): Promise<string> {
  if (issuer === undefined) {
    return `\nServing on ${url} with tokens of ${config.AUTH_ISSUER}. make club NAME=… SLUG=… creates a club.\n`;
  }
  const token = await signToken(issuer, config.AUTH_AUDIENCE.split(','), claimsOf('anna', demoRoles('anna')));
  return `
Serving on ${url}. Paste into another terminal (Anna is Manager of club north; the token lasts a day):

TOKEN=${token}
curl -s ${url}/api/clubs/me -H "Authorization: Bearer $TOKEN"
curl -s ${url}/api/shifts -H "Authorization: Bearer $TOKEN" -H "X-Tenant-Id: ${demoClubs.north.id}"
curl -s ${url}/api/tasks -H "Authorization: Bearer $TOKEN" -H "X-Tenant-Id: ${demoClubs.north.id}"

Or try every operation as one of the demo people: ${url}/docs

A token of another person: make token SUB=ben. Another club: make club NAME=… SLUG=… Stop with Ctrl-C.
`;
}

const stops: Stop[] = [];
let stopping = false;
async function stopAll(exitCode: number): Promise<void> {
  if (stopping) {
    return;
  }
  stopping = true;
  for (const stop of stops) {
    await stop();
  }
  process.exit(exitCode);
}
process.on('SIGINT', () => stopAll(0));
process.on('SIGTERM', () => stopAll(0));

try {
  await run(readDevelopmentConfig(), stops);
} catch (error) {
  console.error(explain(error));
  await stopAll(1);
}
