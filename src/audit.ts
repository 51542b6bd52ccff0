/**
 * The command `node dist/audit.js` or `node dist/audit.js access`, with AUDIT_DATABASE_URL. Its exit code is 1 when a finding
 * is critical, and 2 when the audit cannot run.
 */
import { printAudit, runAudit } from './audit/run.js';
import { readAuditUrl } from './config.js';

await printAudit(() => runAudit(readAuditUrl(), process.argv[2]));
