/**
 * The report as Markdown, for a ticket or an archive.
 */
import { printable } from './printable.js';
import type { Report } from './read.js';
import {
  columnText,
  grouped,
  membershipText,
  policyText,
  roleText,
  scopeText,
  summary,
  verdict,
} from './sentences.js';
import type { Finding } from './statements.js';

/** Prints the report as Markdown. */
export function toMarkdown(report: Report): string {
  const { server, findings, notes, roles, memberships, access, policies } = report;
  const facts = summary(report);
  const blocks = [
    `# Audit of the database ${code(server.database)}`,
    facts.map(([word, text]) => `- ${word}: ${prose(text)}`).join('\n'),
    verdict(report),
    '## Findings',
    ...(findings.length === 0 ? ['None.'] : findings.map(finding)),
    '## Notes',
    table(
      ['Object', 'Topic', 'Detail'],
      notes.map(({ object, topic, detail }) => [code(object), prose(topic), prose(detail)]),
    ),
    '## Roles',
    table(
      ['Role', 'Purpose', 'Why'],
      roles.map((role) => [code(role.role), prose(roleText(role)), prose(role.why)]),
    ),
    '## Who may become whom',
    table(
      ['Member', 'Role', 'How'],
      memberships.map((one) => [
        code(one.path[0] ?? ''),
        code(one.path.at(-1) ?? ''),
        prose(membershipText(one)),
      ]),
    ),
    '## Access',
    table(
      ['Table', 'Verb', 'Role', 'Columns', 'Policies'],
      access.map((cell) => [
        code(cell.relation),
        cell.verb,
        code(cell.role),
        prose(columnText(cell)),
        prose(policyText(cell)),
      ]),
    ),
    '## Policies',
    ...grouped(policies, ({ relation }) => relation).flatMap(([relation, ofTable]) => [
      `### ${code(relation)}`,
      ...ofTable.map((policy) =>
        [
          `- ${code(policy.name)}: ${prose(scopeText(policy))}`,
          `  - using: ${policy.using === null ? 'none' : code(policy.using)}`,
          `  - check: ${policy.check === null ? 'none' : code(policy.check)}`,
          `  - why: ${policy.comment === null ? 'no comment' : prose(policy.comment)}`,
        ].join('\n'),
      ),
    ]),
  ];
  return `${blocks.join('\n\n')}\n`;
}

function finding({ severity, code: check, object, title, detail, why, fix }: Finding): string {
  return [
    `### ${severity}: ${code(check)} ${code(object)}`,
    `${prose(title)}: ${prose(detail)}`,
    `Why it matters: ${prose(why)}`,
    fenced(fix ?? '-- No SQL fixes this: deploy again.'),
  ].join('\n\n');
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return rows.length === 0
    ? 'None.'
    : [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Escapes text from the database, so that it does not become Markdown or HTML markup. */
function prose(text: string): string {
  return (
    oneLine(text)
      .replace(/[\\`*[\]<>&~]/g, '\\$&')
      // An underscore between letters is not markup.
      .replace(/(?<!\p{L})_|_(?!\p{L})/gu, '\\_')
  );
}

/** A name or an expression as inline code, unchanged. */
function code(text: string): string {
  const line = oneLine(text);
  const fence = '`'.repeat(longestRun(line) + 1);
  const space = /^`|`$/.test(line) ? ' ' : '';
  return `${fence}${space}${line}${space}${fence}`;
}

function fenced(text: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}sql\n${printable(text)}\n${fence}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
}

function oneLine(text: string): string {
  return printable(text).replaceAll(/\s+/g, ' ');
}
