/**
 * What a report says in words, whatever it is printed as.
 */
import type { Access, Membership, Policy, Role } from './questions.js';
import type { Report } from './read.js';

/** The version that sql/snapshot.txt is made with: the embedded PostgreSQL. */
export const SNAPSHOT_MAJOR = 18;

/** How many there are: `1 critical finding`, `3 warnings`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** How many findings of each severity, in one sentence. */
export function verdict({ findings }: Report): string {
  const critical = findings.filter(({ severity }) => severity === 'critical').length;
  return findings.length === 0
    ? 'No findings: the isolation of clubs holds, as far as the audit knows.'
    : `${count(critical, 'critical finding')}, ${count(findings.length - critical, 'warning')}.`;
}

/** What was audited, as pairs of a word and a sentence. */
export function particulars({ site, deployed, ours }: Report): [string, string][] {
  return [
    ['server', `PostgreSQL ${site.version}${site.standby ? ', a standby' : ''}`],
    ['login', site.login],
    ['audited', site.at],
    [
      'release',
      deployed === undefined
        ? 'none is recorded'
        : `${deployed.release}, deployed ${deployed.at}; ` +
          (deployed.release === ours.release ? 'that of this checkout' : `this checkout is ${ours.release}`),
    ],
    [
      'fingerprint',
      `${site.fingerprint}, ` +
        (site.fingerprint === ours.snapshot
          ? 'the SHA-256 of sql/snapshot.txt of this checkout'
          : `which is not the SHA-256 of sql/snapshot.txt of this checkout (${ours.snapshot}). ` +
            `That file is made with PostgreSQL ${SNAPSHOT_MAJOR}; ` +
            (site.major === SNAPSHOT_MAJOR
              ? 'other versions may print facts differently, but this is the same.'
              : `other versions, as PostgreSQL ${site.major} here, may print facts differently.`)),
    ],
  ];
}

/** What a role is to the service. */
export function roleWords({ purpose, can_login }: Role): string {
  return `${purpose}, ${can_login ? 'logs in' : 'does not log in'}`;
}

/** How one role comes to another, and what it has of it. */
export function membershipWords({ way, may_become, inherits }: Membership): string {
  const between = way.slice(1, -1);
  const rights = [
    may_become ? 'may become it' : 'may not become it',
    inherits ? 'has its rights' : 'has not its rights',
  ];
  return `${rights.join(', ')}${between.length > 0 ? `, by way of ${between.join(', ')}` : ''}`;
}

/** The columns of a cell of the matrix. */
export function columnWords({ columns }: Access): string {
  return columns === null ? 'all columns' : columns.join(', ');
}

/** Which policies decide on the rows of a cell. */
export function policyWords({ policies }: Access): string {
  return policies.length === 0 ? 'no policy' : policies.join(', ');
}

/** What a policy is, its expressions aside. */
export function scopeWords({ restrictive, command, roles }: Policy): string {
  return `${restrictive ? 'restrictive' : 'permissive'}, for ${command}, to ${roles.join(', ')}`;
}

/** Rows with the same name, together, in the order of their first. */
export function grouped<Row>(rows: Row[], nameOf: (row: Row) => string): [string, Row[]][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    groups.set(nameOf(row), [...(groups.get(nameOf(row)) ?? []), row]);
  }
  return [...groups];
}
