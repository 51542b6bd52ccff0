/**
 * The sentences of a report, for all formats.
 */

import type { Report } from './read.js';
import { type Access, isWarning, type Membership, type Policy, type Role } from './statements.js';

/** The PostgreSQL version that sql/snapshot.txt is generated with: the embedded one. */
export const SNAPSHOT_MAJOR = 18;

/** A count with its noun: `1 critical finding`, `3 warnings`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** The number of findings of each severity, in one sentence. */
export function verdict({ findings }: Report): string {
  const warnings = findings.filter(isWarning).length;
  return findings.length === 0
    ? 'No findings: the isolation of clubs holds, as far as the audit knows.'
    : `${count(findings.length - warnings, 'critical finding')}, ${count(warnings, 'warning')}.`;
}

/** The facts about the audited database, as pairs of a word and a sentence. */
export function summary({ server, deployed, ours }: Report): [string, string][] {
  return [
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

/** The purpose of a role, and whether it logs in. */
export function roleText({ purpose, can_login }: Role): string {
  return `${purpose}, ${can_login ? 'logs in' : 'does not log in'}`;
}

/** What a membership allows, and its path. */
export function membershipText({ path, may_become, inherits }: Membership): string {
  const between = path.slice(1, -1);
  const rights = [
    may_become ? 'may become it' : 'may not become it',
    inherits ? 'has its rights' : 'does not have its rights',
  ];
  return `${rights.join(', ')}${between.length > 0 ? `, through ${between.join(', ')}` : ''}`;
}

/** The columns of an access right. */
export function columnText({ columns }: Access): string {
  return columns === null ? 'all columns' : columns.join(', ');
}

/** The policies that decide on the rows of an access right. */
export function policyText({ policies }: Access): string {
  return policies.length === 0 ? 'no policy' : policies.join(', ');
}

/** The kind, command and roles of a policy. */
export function scopeText({ restrictive, command, roles }: Policy): string {
  return `${restrictive ? 'restrictive' : 'permissive'}, for ${command}, to ${roles.join(', ')}`;
}

/** Groups rows by name, in the order of first occurrence. */
export function grouped<Row>(rows: Row[], nameOf: (row: Row) => string): [string, Row[]][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    groups.set(nameOf(row), [...(groups.get(nameOf(row)) ?? []), row]);
  }
  return [...groups];
}
