/**
 * `make audit [ACCESS=1]`: audits the database of AUDIT_DATABASE_URL or DATABASE_URL, or else the embedded one as club_auditor.
 * The exit code is 1 when a finding is critical and 2 when the audit cannot run; the exit code of make is 2 in both cases.
 */
import { printAudit, runAudit } from '../src/audit/run.js';
import { readDevelopmentConfig } from '../src/config.js';
import { openEmbedded } from './development-database.js';

const [argument] = process.argv.slice(2);

await printAudit(async () => {
  const config = readDevelopmentConfig();
  // A database is audited as it is, without a deploy.
  const given = config.AUDIT_DATABASE_URL ?? config.DATABASE_URL;
  if (given !== undefined) {
    return runAudit(given, argument);
  }
  const database = await openEmbedded(config, 'as it is');
  try {
    return await runAudit(database.auditUrl, argument);
  } finally {
    await database.stop();
  }
});
