/**
 * Reads the schema `audit` of a database in one read-only transaction, which works on a standby too.
 */
import { readFileSync } from 'node:fs';
import { OperatorError } from '../database/errors.js';
import { numberParameters, type Query, sql } from '../database/sql.js';
import { SQLSTATE } from '../database/sql-states.js';
import { isDatabaseError, withClient } from '../deploy/client.js';
import { auditMayRun } from '../deploy/locks.js';
import { releaseFingerprint, sha256, sqlDirectory } from '../deploy/release.js';
import * as statements from './statements.js';

/** The result of an audit. */
export interface Report {
  server: statements.Server;
  /** The release that was deployed last, if any. */
  deployed: statements.LastDeploy | undefined;
  /** The release of this checkout and the hash of its snapshot, to compare with. */
  ours: { release: string; snapshot: string };
  findings: statements.Finding[];
  notes: statements.Note[];
  /** Undefined unless they were asked for. */
  rights: Rights | undefined;
}

/** Who may do what. */
export interface Rights {
  roles: statements.Role[];
  memberships: statements.Membership[];
  access: statements.Access[];
  policies: statements.Policy[];
}

/** The audit cannot run; the message says why and what to do. */
export class AuditImpossible extends OperatorError {
  override name = 'AuditImpossible';
}

/** The SQLSTATEs of a database with no audit or another one. */
const UNKNOWN: string[] = [
  SQLSTATE.INVALID_SCHEMA_NAME,
  SQLSTATE.UNDEFINED_TABLE,
  SQLSTATE.UNDEFINED_COLUMN,
  SQLSTATE.UNDEFINED_FUNCTION,
];

/**
 * Reads the report.
 *
 * @param url the URL of the database, with a login that may read the schema audit
 * @param withRights whether to read who may do what
 * @throws AuditImpossible; ConnectionFailed
 */
export async function readReport(url: string, withRights = false): Promise<Report> {
  const ours = { release: releaseFingerprint(), snapshot: hashOfSnapshot() };
  try {
    return await withClient(
      url,
      async (client) => {
        await client.query('begin isolation level repeatable read, read only');
        await client.query('set local search_path = pg_catalog');
        const read = async <Row>(query: Query<Row>): Promise<Row[]> =>
          (await client.query(numberParameters(query))).rows as Row[];
        const [audit] = await read<{ mayRun: boolean }>(sql`select ${auditMayRun} as "mayRun"`);
        if (!audit?.mayRun) {
          throw new AuditImpossible('A deploy is running in this database. Run the audit after it.');
        }
        const [server] = (await read(statements.server)) as [statements.Server];
        const [deployed] = await read(statements.deployed);
        return {
          server,
          deployed,
          ours,
          findings: await read(statements.findings),
          notes: await read(statements.notes),
          rights: withRights
            ? {
                roles: await read(statements.roles),
                memberships: await read(statements.memberships),
                access: await read(statements.access),
                policies: await read(statements.policies),
              }
            : undefined,
        };
      },
      'AUDIT_DATABASE_URL',
    );
  } catch (error) {
    throw impossible(error);
  }
}

function hashOfSnapshot(): string {
  return sha256(readFileSync(new URL('snapshot.txt', sqlDirectory), 'utf8'));
}

function impossible(error: unknown): unknown {
  if (!isDatabaseError(error)) {
    return error;
  }
  const { code = '', message } = error;
  if (UNKNOWN.includes(code)) {
    return new AuditImpossible(
      'This database has no audit or an older one. Deploy first: node dist/migrate.js.',
    );
  }
  if (code === SQLSTATE.INSUFFICIENT_PRIVILEGE) {
    return new AuditImpossible('This login may not read the schema audit. Use club_auditor.');
  }
  return new AuditImpossible(`The database refused the audit: ${message}.`, { cause: error });
}
