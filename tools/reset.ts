/** `make reset`: drops the embedded database, with all its clubs. The next `make run` makes a new one. */
import { readDevelopmentConfig } from '../src/config.js';
import { explain } from '../src/database/errors.js';
import { dropEmbedded, startEmbedded } from './development-database.js';

try {
  const { EMBEDDED_DATA_DIR } = readDevelopmentConfig();
  const server = await startEmbedded(EMBEDDED_DATA_DIR, 'as it is');
  try {
    if (server.owned) {
      await dropEmbedded(server);
      console.log(
        `Dropped the database of make run, in ${EMBEDDED_DATA_DIR}. The next make run creates a new one.`,
      );
    } else {
      console.error('The database is in use: stop make run first.');
      process.exitCode = 1;
    }
  } finally {
    await server.stop();
  }
} catch (error) {
  console.error(explain(error));
  process.exitCode = 1;
}
