/**
 * `make token SUB=anna [CLUB=north] [ROLE=Manager]`: prints a token of the development issuer.
 *
 * CLUB is the slug of a demo club or the id of any club, or several separated by commas. Without CLUB the token has the
 * roles of the demo person; the token of another person then has no club, which stderr reports.
 */

import { ConfigurationError, readDevelopmentConfig } from '../src/config.js';
import { ROLES, type Role } from '../src/roles.js';
import { isUuid } from '../src/validation/uuid.js';
import { readIssuer, signToken } from './issuer.js';
import { claimsOf, demoClubs, demoPeople, demoRoles } from './people.js';

/** There is no token, for a reason that the user can change. */
class NoToken extends Error {}

/** @throws NoToken for a person, club or role that is missing or unknown */
function rolesOf(subject: string, clubs: string, role: string): Record<string, Role> {
  if (subject === '') {
    throw new NoToken(
      `Give the person: make token SUB=anna. The demo people are ${Object.keys(demoPeople).join(', ')}.`,
    );
  }
  if (clubs === '' && role !== '') {
    throw new NoToken('A ROLE needs a CLUB: make token SUB=anna CLUB=north ROLE=Manager.');
  }
  if (clubs === '') {
    return demoRoles(subject);
  }
  const known = ROLES.find((name) => name === (role || 'Member'));
  if (known === undefined) {
    throw new NoToken(`There is no role ${role}. Roles are ${ROLES.join(', ')}.`);
  }
  const ids = clubs.split(',').map((club) => demoClubs[club as keyof typeof demoClubs]?.id ?? club);
  const unknown = ids.find((id) => !isUuid(id));
  if (unknown !== undefined) {
    const slugs = Object.keys(demoClubs).join(', ');
    throw new NoToken(`${unknown} is neither a demo club (${slugs}) nor the id of a club.`);
  }
  return Object.fromEntries(ids.map((id) => [id, known]));
}

/** @throws NoToken; ConfigurationError */
async function makeToken([subject = '', clubs = '', role = '']: string[]): Promise<string> {
  const roles = rolesOf(subject, clubs, role);
  const config = readDevelopmentConfig();
  if (config.NODE_ENV !== 'development') {
    throw new NoToken('NODE_ENV must be development for make token.');
  }
  if (config.AUTH_ISSUER !== undefined) {
    throw new NoToken(
      'AUTH_ISSUER is set, so the service accepts only tokens of that issuer, which make token cannot sign. Unset it to use the development issuer.',
    );
  }
  const issuer = await readIssuer(config.EMBEDDED_DATA_DIR);
  if (issuer === undefined) {
    throw new NoToken('There is no development issuer yet. Start it with make run.');
  }
  if (clubs === '' && !Object.hasOwn(demoPeople, subject)) {
    const people = Object.keys(demoPeople).join(', ');
    console.error(
      `${subject} is none of the demo people (${people}), so this token has no club. CLUB=north gives it one.`,
    );
  }
  return signToken(issuer, config.AUTH_AUDIENCE.split(','), claimsOf(subject, roles));
}

try {
  console.log(await makeToken(process.argv.slice(2)));
} catch (error) {
  console.error(error instanceof NoToken || error instanceof ConfigurationError ? error.message : error);
  process.exitCode = 1;
}
