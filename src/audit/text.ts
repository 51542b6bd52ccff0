/**
 * The report for a terminal of 100 columns, without colours.
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

const WIDTH = 100;

/** Prints the report as text. */
export function toText(report: Report): string {
  const { server, findings, notes, roles, memberships, access, policies } = report;
  const sections: [string, string[]][] = [
    ['Findings', findings.flatMap(finding)],
    ['Notes', notes.flatMap(({ topic, object, detail }) => entry(`${object}, ${topic}`, [['', detail]]))],
    ['Roles', roles.flatMap((role) => entry(`${role.role}: ${roleText(role)}`, [['', role.why]]))],
    [
      'Who may become whom',
      memberships.flatMap((one) =>
        entry(`${one.path[0]} -> ${one.path.at(-1)}`, [['', membershipText(one)]]),
      ),
    ],
    [
      'Access: which role may do what with which table, in which columns and by which policies',
      grouped(access, ({ relation }) => relation).flatMap(([relation, cells]) =>
        entry(
          relation,
          cells.flatMap((cell) => [
            [`${cell.verb} ${cell.role}`, columnText(cell)] as const,
            ['', policyText(cell)] as const,
          ]),
        ),
      ),
    ],
    [
      'Policies',
      policies.flatMap((policy) =>
        entry(`${policy.relation} ${policy.name}: ${scopeText(policy)}`, [
          ['using', policy.using ?? '-'],
          ['check', policy.check ?? '-'],
          ['why', policy.comment ?? '-'],
        ]),
      ),
    ],
  ];
  const lines = [
    ...wrapped(`Audit of the database ${server.database}`, '', ''),
    '',
    ...table(summary(report), '  '),
    '',
    ...wrapped(verdict(report), '', ''),
    ...sections
      .filter(([, content]) => content.length > 0)
      .flatMap(([title, content]) => ['', title, '='.repeat(title.length), ...content]),
    // The verdict again: after a long report the terminal shows its end.
    '',
    ...wrapped(verdict(report), '', ''),
  ];
  return `${lines.join('\n')}\n`;
}

function finding({ severity, code, object, title, detail, why, fix }: Finding): string[] {
  return [
    ...entry(`${severity.toUpperCase()} ${code}: ${object}`, [
      ['what', title],
      ['here', detail],
      ['why', why],
    ]),
    // Not wrapped, so that it can be copied.
    ...printable(fix ?? '-- No SQL fixes this: deploy again.')
      .split('\n')
      .map((line, index) => `    ${index === 0 ? 'fix ' : '    '}  ${line}`.trimEnd()),
  ];
}

/** A heading with a table below it. */
function entry(head: string, rows: (readonly [string, string])[]): string[] {
  return ['', ...wrapped(head, '  ', '    '), ...table(rows, '    ')];
}

/** A table of two columns. */
function table(rows: (readonly [string, string])[], margin: string): string[] {
  const width = Math.max(...rows.map(([word]) => lengthOf(printable(word))));
  const gap = width === 0 ? '' : '  ';
  return rows.flatMap(([word, text]) => {
    const left = printable(word).replaceAll('\n', ' ');
    const first = `${margin}${left}${' '.repeat(width - lengthOf(left))}${gap}`;
    return wrapped(text, first, `${margin}${' '.repeat(width)}${gap}`);
  });
}

/** Wraps the text at spaces. */
function wrapped(text: string, first: string, further: string): string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of printable(text).split(/\s+/)) {
    if (!isEmpty && lengthOf(line) + 1 + lengthOf(word) > WIDTH) {
      lines.push(line);
      line = further;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line].map((one) => one.trimEnd());
}

function lengthOf(text: string): number {
  return [...text].length;
}
