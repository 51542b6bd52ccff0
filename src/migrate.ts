/**
 * The command `node dist/migrate.js`, which deploys to MIGRATION_DATABASE_URL.
 */
import { readMigrationUrl } from './config.js';
import { explain } from './database/errors.js';
import { deploy } from './deploy/deploy.js';

try {
  const { migrations, applied, warnings } = await deploy(readMigrationUrl());
  const ran = `${migrations.length} migrations (${migrations.join(', ') || 'none were new'})`;
  const chapters = applied ? 'all chapters' : 'no chapter, because all are applied already';
  console.log(
    applied || migrations.length > 0
      ? `Deployed: ${ran} and ${chapters}.`
      : 'Nothing to do: this release is deployed, and nothing was changed by hand since.',
  );
  for (const warning of warnings) {
    console.error(warning);
  }
} catch (error) {
  console.error(explain(error));
  process.exitCode = 1;
}
