/**
 * The command `node dist/migrate.js`, which deploys to MIGRATION_DATABASE_URL.
 */
import { readDeployConfig } from './config.js';
import { explain } from './database/errors.js';
import { deploy } from './deploy/deploy.js';

try {
  const { url, approve } = readDeployConfig();
  const { migrations, applied, approved, warnings } = await deploy(url, undefined, approve);
  const ran = `${migrations.length} migrations (${migrations.join(', ') || 'none were new'})`;
  const chapters = applied ? 'all chapters' : 'no chapter, because all are applied already';
  console.log(
    applied || migrations.length > 0
      ? `Deployed: ${ran} and ${chapters}.`
      : 'Nothing to deploy: this release is deployed, and the audit finds no drift.',
  );
  if (approved?.length === 0) {
    console.log('Approved: no role.');
  }
  for (const { role, approved: what } of approved ?? []) {
    console.log(`Approved: ${role} (${what.join(', ') || 'it has nothing to approve'}).`);
  }
  for (const warning of warnings) {
    console.error(warning);
  }
} catch (error) {
  console.error(explain(error));
  process.exitCode = 1;
}
