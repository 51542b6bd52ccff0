/**
 * `make audit [FORMAT=markdown]`: the audit of the database that AUDIT_DATABASE_URL or DATABASE_URL names, and
 * otherwise of the embedded one, as club_auditor. It ends with 1 when a finding is critical, and with 2 when it
 * cannot be run; make itself then ends with 2 in both cases.
 */
import { printAudit, runAudit } from '../src/audit/run.js';
import { readDevelopmentConfig } from '../src/config.js';
import { openDatabase } from './development-database.js';
import { explain } from './explain.js';

const format = process.argv[2] || 'text';

await printAudit(async () => {
  const config = readDevelopmentConfig();
  // What a database is like is seen before anything is deployed there.
  const given = config.AUDIT_DATABASE_URL ?? config.DATABASE_URL;
  if (given !== undefined) {
    return runAudit(given, format);
  }
  const database = await openDatabase(config);
  try {
    return await runAudit(database.auditUrl, format);
  } finally {
    await database.stop();
  }
}, explain);
