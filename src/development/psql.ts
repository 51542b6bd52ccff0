/**
 * `make psql [CLUB=north] [SUB=anna] [ROLE=Viewer]`: a psql session as the runtime role inside a demo club, to see
 * what requests see. The settings of the context hold for the session; `\c` or a new session takes others.
 */
import { spawn } from 'node:child_process';
import { readDevelopmentConfig } from '../config.js';
import { inClub } from '../database/context.js';
import { Database } from '../database/database.js';
import { ROLES } from '../identity/roles.js';
import { openDatabase } from './database.js';
import { demoCaller, demoClubs, demoRoles } from './people.js';

const [slug = '', subject = '', word = ''] = process.argv.slice(2);
const club = demoClubs[(slug || 'north') as keyof typeof demoClubs];
const person = subject || 'anna';
const role = ROLES.find((name) => name === word) ?? (club && demoRoles(person)[club.id]);

if (club === undefined || role === undefined) {
  console.error(
    'Name a demo club, and a person with a role in it: make psql CLUB=north SUB=anna ROLE=Manager',
  );
  process.exit(1);
}

const database = await openDatabase(readDevelopmentConfig());
const caller = demoCaller(person, club.id, role);
const pool = new Database({ url: database.url, slots: 1, prepare: true });
await inClub(pool, caller, 'read only', async () => {});
await pool.close();

const settings = { tenant_id: club.id, user_id: person, role, member_id: caller.memberId };
const url = new URL(database.url);
url.search = `options=${encodeURIComponent(
  Object.entries(settings)
    .map(([name, value]) => `-c app.${name}=${value}`)
    .join(' '),
)}`;
console.error(`You are ${person}, ${role} of ${club.name}, as the service's own role. Try: table shifts;`);
const psql = spawn('psql', [url.href], { stdio: 'inherit' });
// Ctrl-C interrupts a statement of psql, not this.
process.on('SIGINT', () => {});
psql.on('error', async () => {
  console.error('psql is not installed. It comes with the PostgreSQL client packages.');
  await database.stop();
  process.exit(1);
});
psql.on('exit', async (code) => {
  await database.stop();
  process.exit(code ?? 1);
});
