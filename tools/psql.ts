/**
 * `make psql [CLUB=north] [SUB=anna] [ROLE=Viewer]`: a psql session as the runtime role inside a demo club. It sees the
 * rows that a request sees. The tenant context is set for the whole session.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { environmentWith, readDevelopmentConfig } from '../src/config.js';
import { Database } from '../src/database/database.js';
import { explain, TenantNotFound } from '../src/database/errors.js';
import { sql } from '../src/database/sql.js';
import { readInTenant } from '../src/database/tenant-context.js';
import { ROLES } from '../src/roles.js';
import { openDatabase } from './development-database.js';
import { demoCaller, demoClubs, demoRoles } from './people.js';

const [slug = '', subject = '', word = ''] = process.argv.slice(2);
const club = demoClubs[(slug || 'north') as keyof typeof demoClubs];
const person = subject || 'anna';
const role = word === '' ? club && demoRoles(person)[club.id] : ROLES.find((name) => name === word);

if (club === undefined || role === undefined) {
  console.error(
    'Give a demo club and a person with a role in it: make psql CLUB=north SUB=anna ROLE=Manager',
  );
  process.exit(1);
}

/**
 * A startup file, which psql runs after it has connected: it enters the club, and ends with the user's own file. If the session
 * began with the context, the audit would report it as preset.
 */
async function startupFile(context: Record<string, string>): Promise<string> {
  const calls = Object.entries(context).map(
    ([name, value]) => `set_config('app.${name}', ${pg.escapeLiteral(value)}, false)`,
  );
  const own = environmentWith({}).PSQLRC || join(homedir(), '.psqlrc');
  return `select ${calls.join(', ')} \\g /dev/null\n${await readFile(own, 'utf8').catch(() => '')}`;
}

/** Runs psql inside the club and returns its exit code. */
async function runPsql(url: string, PSQLRC: string): Promise<number> {
  const target = new URL(url);
  const parameters = Object.fromEntries(target.searchParams);
  // psql knows this mode by another name, and reads a plus sign as one.
  const sslmode = parameters.sslmode === 'no-verify' ? { sslmode: 'require' } : {};
  target.search = Object.entries({ ...parameters, ...sslmode })
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  // The arguments of a process are visible to other users.
  const password = decodeURIComponent(target.password);
  target.password = '';

  console.error(`You are ${person}, ${role} of ${club.name}, as the service's own role. Try: table shifts;`);
  // Ctrl-C interrupts a statement of psql, not this process.
  process.on('SIGINT', () => {});
  const psql = spawn('psql', [target.href], {
    stdio: 'inherit',
    env: environmentWith({ PSQLRC, ...(password !== '' && { PGPASSWORD: password }) }),
  });
  return new Promise((resolve) => {
    psql.once('exit', (code) => resolve(code ?? 1));
    psql.once('error', () => {
      console.error('psql is not installed. It comes with the PostgreSQL client packages.');
      resolve(1);
    });
  });
}

let stop = async () => {};
const directory = await mkdtemp(join(tmpdir(), 'club-psql-'));
try {
  const database = await openDatabase(readDevelopmentConfig(), 'as it is');
  stop = database.stop;
  // A first read creates the person's member row, whose id the session needs.
  const caller = demoCaller(person, club.id, role);
  const pool = new Database({ url: database.url, size: 1, prepare: true, readsPerConnection: 1 });
  let memberId: string;
  try {
    ({ memberId } = await readInTenant(pool, caller, 'enter', sql`select`));
  } finally {
    await pool.close();
  }
  const context = { tenant_id: club.id, user_id: person, role, member_id: memberId };
  const startup = join(directory, 'psqlrc');
  await writeFile(startup, await startupFile(context));
  process.exitCode = await runPsql(database.url, startup);
} catch (error) {
  console.error(
    error instanceof TenantNotFound
      ? 'There is no such club in this database. make run loads the demo clubs.'
      : explain(error),
  );
  process.exitCode = 1;
} finally {
  await stop();
  await rm(directory, { recursive: true });
}
