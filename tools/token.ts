/**
 * `make token SUB=anna [CLUB=north] [ROLE=Manager]`: prints a token of the development issuer.
 *
 * CLUB is the slug of a demo club or the id of any club, or several separated by commas. Without CLUB the token has the
 * roles of the demo person.
 */

import { readDevelopmentConfig } from '../src/config.js';
import { ROLES, type Role } from '../src/roles.js';
import { isUuid } from '../src/validation/uuid.js';
import { readIssuer, signToken } from './issuer.js';
import { claimsOf, demoClubs, demoPeople, demoRoles } from './people.js';

const [subject = '', clubs = '', role = ''] = process.argv.slice(2);

function rolesOf(): Record<string, Role> | string {
  if (subject === '') {
    return `Give the person: make token SUB=anna. The demo people are ${Object.keys(demoPeople).join(', ')}.`;
  }
  if (clubs === '') {
    return role === ''
      ? demoRoles(subject)
      : 'A ROLE needs a CLUB: make token SUB=anna CLUB=north ROLE=Manager.';
  }
  const known = ROLES.find((name) => name === (role || 'Member'));
  if (known === undefined) {
    return `There is no role ${role}. Roles are ${ROLES.join(', ')}.`;
  }
  const ids = clubs.split(',').map((club) => demoClubs[club as keyof typeof demoClubs]?.id ?? club);
  const unknown = ids.find((id) => !isUuid(id));
  return unknown === undefined
    ? Object.fromEntries(ids.map((id) => [id, known]))
    : `${unknown} is neither a demo club (${Object.keys(demoClubs).join(', ')}) nor the id of a club.`;
}

const config = readDevelopmentConfig();
const roles = rolesOf();
const issuer = await readIssuer(config.EMBEDDED_DATA_DIR);
if (typeof roles === 'string' || config.NODE_ENV !== 'development' || issuer === undefined) {
  console.error(
    typeof roles === 'string' ? roles : 'There is no development issuer yet. Start it with make run.',
  );
  process.exitCode = 1;
} else {
  console.log(await signToken(issuer, config.AUTH_AUDIENCE.split(','), claimsOf(subject, roles)));
}
