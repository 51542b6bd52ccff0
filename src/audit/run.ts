import { OperatorError } from '../database/errors.js';
import { printable } from './printable.js';
import { AuditImpossible, readReport } from './read.js';
import { isWarning } from './statements.js';
import { toText } from './text.js';

/** The output of an audit and its exit code. */
export interface AuditOutput {
  out: string;
  /** 0, or 1 when a finding is critical. */
  exitCode: number;
}

/**
 * Audits a database.
 *
 * @param argument `access` for a report that also contains who may do what
 * @throws AuditImpossible
 */
export async function runAudit(url: string, argument?: string): Promise<AuditOutput> {
  if (argument !== undefined && argument !== 'access') {
    throw new AuditImpossible(`The argument must be access or none, not ${argument}.`);
  }
  const report = await readReport(url, argument === 'access');
  const isCritical = !report.findings.every(isWarning);
  return { out: toText(report), exitCode: isCritical ? 1 : 0 };
}

/** Prints an audit and sets the exit code of the process: 2 when the audit could not run. */
export async function printAudit(audit: () => Promise<AuditOutput>): Promise<void> {
  try {
    const { out, exitCode } = await audit();
    process.stdout.write(out);
    process.exitCode = exitCode;
  } catch (error) {
    console.error(error instanceof OperatorError ? printable(error.message) : error);
    process.exitCode = 2;
  }
}
