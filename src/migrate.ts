/**
 * The deploy, as a process of its own: `node dist/migrate.js` with MIGRATION_DATABASE_URL.
 */
import { ConfigurationError, readMigrationUrl } from './config.js';
import { deploy, explainFailure } from './deploy/deploy.js';

try {
  const { migrations, applied } = await deploy(readMigrationUrl());
  console.log(
    applied
      ? `Deployed: ${migrations.length} migrations (${migrations.join(', ') || 'none were new'}) and all chapters.`
      : 'Nothing to do: this release is deployed, and nothing was changed by hand since.',
  );
} catch (error) {
  console.error(error instanceof ConfigurationError ? error.message : explainFailure(error));
  process.exitCode = 1;
}
