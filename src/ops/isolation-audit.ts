import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { type Finding, findings, isWarning } from '../audit/statements.js';
import type { Context } from '../database/context.js';
import type { Database } from '../database/database.js';
import { Unavailable } from '../database/errors.js';
import { NO_TENANT } from '../database/pool.js';
import { sql } from '../database/sql.js';
import { auditMayRun } from '../deploy/locks.js';
import { startPeriodicJob } from './periodic-job.js';

/** When the service audits its database by itself. */
export interface AuditTimes {
  /** From the end of an audit to the start of the next, in milliseconds. */
  everyMs: number;
  /** The same until the first audit has run. */
  retryMs: number;
  /** From the end of the last audit that ran, or the start of the service, until the result is stale. */
  staleAfterMs: number;
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
  /** Whether no audit has run for too long; a line in the log says when that begins and when it ends. */
  isStale(): boolean;
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
  const age = watchAge(app, times?.staleAfterMs ?? null);
  const run = startPeriodicJob(app, {
    database,
    messages: { fails: 'the audit cannot be run', recovers: 'the audit can be run again' },
    // When it fails, the last result stays: a database that is down for a moment has not become unsafe.
    work: async (isClosed) => {
      const found = await readFindings(database);
      if (!isClosed()) {
        logChanges(app.log, known, found);
        known = found;
        latest = { ...countOf(found), at: new Date().toISOString() };
        age.restart();
      }
    },
    pauseMs: times && (() => (latest === undefined ? times.retryMs : times.everyMs)),
  });
  return { latest: () => latest, isStale: age.isStale, run };
}

/**
 * Measures how long ago the last audit ran, with its own timer: an audit may never end.
 *
 * @param staleAfterMs null to measure nothing
 */
function watchAge(app: FastifyInstance, staleAfterMs: number | null) {
  let isStale = false;
  let timer: NodeJS.Timeout | undefined;
  const restart = () => {
    clearTimeout(timer);
    if (isStale) {
      isStale = false;
      app.log.info('the audit is no longer stale');
    }
    if (staleAfterMs !== null) {
      timer = setTimeout(() => {
        isStale = true;
        app.log.warn({ seconds: staleAfterMs / 1_000 }, 'the audit is stale: none has run for a long time');
      }, staleAfterMs).unref();
    }
  };
  app.addHook('onReady', async () => restart());
  app.addHook('onClose', async () => clearTimeout(timer));
  return { restart, isStale: () => isStale };
}

function countOf(found: Finding[]) {
  const warnings = found.filter(isWarning).length;
  return { critical: found.length - warnings, warnings };
}

/** Logs a finding when it appears and when it is gone, not every minute in between. `node dist/audit.js` prints more of it. */
function logChanges(log: FastifyBaseLogger, before: Finding[], after: Finding[]): void {
  for (const { code, severity, object, detail } of without(after, before)) {
    log[isWarning({ severity }) ? 'warn' : 'error']({ code, object, detail }, 'audit finding');
  }
  for (const { code, object, detail } of without(before, after)) {
    log.info({ code, object, detail }, 'audit finding is gone');
  }
}

function without(found: Finding[], others: Finding[]): Finding[] {
  const keyOf = ({ code, severity, object, detail }: Finding) =>
    JSON.stringify([code, severity, object, detail]);
  const known = new Set(others.map(keyOf));
  return found.filter((finding) => !known.has(keyOf(finding)));
}

const withoutDeploy: Context<void> = {
  tenant: NO_TENANT,
  sql: sql`${auditMayRun} as accepted`,
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
      return tx.query(findings);
    },
  });
}
