/**
 * The audit, as a process of its own: `node dist/audit.js` or `node dist/audit.js markdown`, with
 * AUDIT_DATABASE_URL. It ends with 1 when a finding is critical, and with 2 when it cannot be run.
 */
import { printAudit, runAudit } from './audit/run.js';
import { ConfigurationError, readAuditUrl } from './config.js';

await printAudit(
  () => runAudit(readAuditUrl(), process.argv[2] || 'text'),
  (error) => (error instanceof ConfigurationError ? error.message : error),
);
