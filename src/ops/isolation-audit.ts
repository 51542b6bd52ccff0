import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { isWarning } from '../audit/statements.js';
import type { Context } from '../database/context.js';
import type { Database } from '../database/database.js';
import { Unavailable } from '../database/errors.js';
import { NO_TENANT } from '../database/pool.js';
import { sql } from '../database/sql.js';
import { DEPLOY_LOCK } from '../deploy/locks.js';
import { startPeriodicJob } from './periodic-job.js';

/** A finding of the audit of the database. The command `node dist/audit.js` shows more of it. */
export interface Finding {
  code: string;
  severity: string;
  object: string;
  detail: string;
}

/** When the service audits its database by itself. */
export interface AuditTimes {
  /** From the end of an audit to the start of the next, in milliseconds. */
  everyMs: number;
  /** The same until the first audit has run. */
  retryMs: number;
}

/** The result of an audit. */
export interface AuditCounts {
  critical: number;
  warnings: number;
  /** When it ended (RFC 3339). */
  at: string;
}

/** The audit of the service's database. */
export interface IsolationAudit {
  /** The result of the last audit that ran; undefined before the first. */
  latest(): AuditCounts | undefined;
  /** Audits now, or waits for the audit that is running. Never fails: when the audit cannot run, that is logged. */
  run(): Promise<void>;
}

/**
 * Audits the isolation of the database at the start and then periodically. Requests are not delayed: `/readyz` reads the
 * result of the last audit.
 *
 * @param app the service, from whose start to whose end it runs
 * @param times null to audit only when `run` is called
 */
export function auditIsolation(
  app: FastifyInstance,
  { database, times }: { database: Database; times: AuditTimes | null },
): IsolationAudit {
  let known: Finding[] = [];
  let latest: AuditCounts | undefined;
  const run = startPeriodicJob(app, {
    messages: { fails: 'the audit cannot be run', recovers: 'the audit can be run again' },
    // When it fails, the last result stays: a database that is down for a moment has not become unsafe.
    work: async (isClosed) => {
      const findings = await readFindings(database);
      if (!isClosed()) {
        logChanges(app.log, known, findings);
        known = findings;
        latest = { ...countOf(findings), at: new Date().toISOString() };
      }
    },
    pauseMs: times && (() => (latest === undefined ? times.retryMs : times.everyMs)),
  });
  return { latest: () => latest, run };
}

function countOf(findings: Finding[]) {
  const warnings = findings.filter(isWarning).length;
  return { critical: findings.length - warnings, warnings };
}

/** Logs a finding when it appears and when it is gone, not every minute in between. */
function logChanges(log: FastifyBaseLogger, before: Finding[], after: Finding[]): void {
  for (const { severity, ...finding } of without(after, before)) {
    log[isWarning({ severity }) ? 'warn' : 'error'](finding, 'audit finding');
  }
  for (const { severity, ...finding } of without(before, after)) {
    log.info(finding, 'audit finding is gone');
  }
}

function without(findings: Finding[], others: Finding[]): Finding[] {
  const keyOf = ({ code, severity, object, detail }: Finding) =>
    JSON.stringify([code, severity, object, detail]);
  const known = new Set(others.map(keyOf));
  return findings.filter((finding) => !known.has(keyOf(finding)));
}

/**
 * Takes the lock of deploys in shared mode. During a deploy the audit would report findings that are none, and a deploy
 * waits for a running audit, so that neither waits for the table locks of the other.
 */
const withoutDeploy: Context<void> = {
  tenant: NO_TENANT,
  sql: sql`pg_try_advisory_xact_lock_shared(${DEPLOY_LOCK}) as accepted`,
  parse: ({ accepted }) => {
    if (accepted !== true) {
      throw new Unavailable('A deploy is running.');
    }
  },
};

/**
 * Reads the findings. It uses one connection for some tenths of a second.
 *
 * @throws Unavailable when the database cannot be reached, or a deploy is running
 */
function readFindings(database: Database): Promise<Finding[]> {
  return database.transaction({
    operation: 'audit',
    mode: 'read only',
    context: withoutDeploy,
    work: async (tx) => {
      // With this search_path names are printed in full, as the deploy recorded them.
      await tx.query(sql`select set_config('search_path', 'pg_catalog', true)`);
      return tx.query<Finding>(sql`select code, severity, object, detail from audit.findings`);
    },
  });
}
