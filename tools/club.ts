/**
 * `make club NAME="Chess Club" SLUG=chess [ZONE=Europe/Berlin]`: creates a club and prints its id.
 *
 * It uses the database of MIGRATION_DATABASE_URL or the embedded one; `make run` need not be running.
 */

import { ConfigurationError, readDevelopmentConfig } from '../src/config.js';
import { explain } from '../src/database/errors.js';
import { ClubRefused, provisionClub } from '../src/deploy/provision-club.js';
import { openEmbedded } from './development-database.js';

const [name = '', slug = '', timeZone = ''] = process.argv.slice(2);

async function makeClub(): Promise<string> {
  if (name === '' || slug === '') {
    throw new ClubRefused(
      'Give a name and a slug: make club NAME="Chess Club" SLUG=chess ZONE=Europe/Berlin',
    );
  }
  const config = readDevelopmentConfig();
  const club = { name, slug, timeZone: timeZone || 'UTC' };
  if (config.MIGRATION_DATABASE_URL !== undefined) {
    return provisionClub(config.MIGRATION_DATABASE_URL, club);
  }
  if (config.DATABASE_URL !== undefined) {
    throw new ConfigurationError([
      'MIGRATION_DATABASE_URL must be set: the login of DATABASE_URL may not create clubs.',
    ]);
  }
  const database = await openEmbedded(config, 'as it is');
  try {
    return await provisionClub(database.migrationUrl, club);
  } finally {
    await database.stop();
  }
}

try {
  console.log(await makeClub());
} catch (error) {
  console.error(explain(error));
  process.exitCode = 1;
}
