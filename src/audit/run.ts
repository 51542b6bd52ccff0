import { OperatorError } from '../database/errors.js';
import { toMarkdown } from './markdown.js';
import { printable } from './printable.js';
import { AuditImpossible, readReport } from './read.js';
import { isWarning } from './statements.js';
import { toText } from './text.js';

const formats: Record<string, typeof toText> = { text: toText, markdown: toMarkdown };

/** The output of an audit and its exit code. */
export interface AuditOutput {
  out: string;
  /** 0, or 1 when a finding is critical. */
  exitCode: number;
}

/**
 * Audits a database.
 *
 * @param format text or markdown
 * @throws AuditImpossible
 */
export async function runAudit(url: string, format: string): Promise<AuditOutput> {
  const print = formats[format];
  if (print === undefined) {
    throw new AuditImpossible(
      `There is no format ${format}. Formats are ${Object.keys(formats).join(', ')}.`,
    );
  }
  const report = await readReport(url);
  const isCritical = !report.findings.every(isWarning);
  return { out: print(report), exitCode: isCritical ? 1 : 0 };
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
