/**
 * The report for a terminal of 100 columns, without colours.
 */
import { printable } from './printable.js';
import type { Report, Rights } from './read.js';
import { type Finding, isWarning, type Membership } from './statements.js';

const WIDTH = 100;

/** The PostgreSQL version that sql/snapshot.txt is generated with: the embedded one. */
export const SNAPSHOT_MAJOR = 18;

/** Prints the report as text. */
export function toText(report: Report): string {
  const { findings, notes, rights } = report;
  const sections: [string, string[]][] = [
    ['Findings', findings.flatMap(finding)],
    ['Notes', notes.flatMap(({ topic, object, detail }) => entry(`${object}, ${topic}`, [['', detail]]))],
    ...(rights === undefined ? [] : sectionsOf(rights)),
  ];
  const lines = [
    verdict(findings),
    '',
    ...table(summary(report), '  '),
    ...sections
      .filter(([, content]) => content.length > 0)
      .flatMap(([title, content]) => ['', title, '='.repeat(title.length), ...content]),
  ];
  return `${lines.join('\n')}\n`;
}

/** The number of findings of each severity, in one sentence. */
function verdict(findings: Finding[]): string {
  const warnings = findings.filter(isWarning).length;
  return findings.length === 0
    ? 'No findings: the isolation of clubs holds, as far as the audit knows.'
    : `${count(findings.length - warnings, 'critical finding')}, ${count(warnings, 'warning')}.`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** The facts about the audited database, as pairs of a word and a sentence. */
function summary({ server, deployed, ours }: Report): [string, string][] {
  return [
    ['database', server.database],
    ['server', `PostgreSQL ${server.version}${server.standby ? ', a standby' : ''}`],
    ['login', server.login],
    ['audited', server.at],
    [
      'release',
      deployed === undefined
        ? 'none is recorded'
        : `${deployed.release}, deployed ${deployed.at}; ` +
          (deployed.release === ours.release ? 'that of this checkout' : `this checkout is ${ours.release}`),
    ],
    [
      'fingerprint',
      `${server.fingerprint}, ` +
        (server.fingerprint === ours.snapshot
          ? 'the SHA-256 of sql/snapshot.txt of this checkout'
          : `which is not the SHA-256 of sql/snapshot.txt of this checkout (${ours.snapshot}). ` +
            `That file is generated with PostgreSQL ${SNAPSHOT_MAJOR}; ` +
            (server.major === SNAPSHOT_MAJOR
              ? 'this server has the same version, so the difference is real.'
              : `other versions, such as PostgreSQL ${server.major} here, may print facts differently.`)),
    ],
  ];
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

/** Who may do what. */
function sectionsOf({ roles, memberships, access, policies }: Rights): [string, string[]][] {
  return [
    [
      'Roles',
      roles.flatMap(({ role, purpose, can_login, why }) =>
        entry(`${role}: ${purpose}, ${can_login ? 'logs in' : 'does not log in'}`, [['', why]]),
      ),
    ],
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
          cells.flatMap(({ verb, role, columns, policies }) => [
            [`${verb} ${role}`, columns?.join(', ') ?? 'all columns'] as const,
            ['', policies.join(', ') || 'no policy'] as const,
          ]),
        ),
      ),
    ],
    [
      'Policies',
      policies.flatMap(({ relation, name, restrictive, command, roles, using, check, comment }) =>
        entry(
          `${relation} ${name}: ${restrictive ? 'restrictive' : 'permissive'}, for ${command}, to ${roles.join(', ')}`,
          [
            ['using', using ?? '-'],
            ['check', check ?? '-'],
            ['why', comment ?? '-'],
          ],
        ),
      ),
    ],
  ];
}

/** What a membership allows, and its path. */
function membershipText({ path, may_become, inherits }: Membership): string {
  const between = path.slice(1, -1);
  const rights = [
    may_become ? 'may become it' : 'may not become it',
    inherits ? 'has its rights' : 'does not have its rights',
  ];
  return `${rights.join(', ')}${between.length > 0 ? `, through ${between.join(', ')}` : ''}`;
}

/** Groups rows by name, in the order of first occurrence. */
function grouped<Row>(rows: Row[], nameOf: (row: Row) => string): [string, Row[]][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    groups.set(nameOf(row), [...(groups.get(nameOf(row)) ?? []), row]);
  }
  return [...groups];
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
