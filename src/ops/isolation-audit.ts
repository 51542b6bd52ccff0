import type { FastifyBaseLogger } from 'fastify';
import plugin from 'fastify-plugin';
import type { Database } from '../database/database.js';
import { Unavailable } from '../database/errors.js';
import { NO_TENANT } from '../database/pool.js';
import type { Entry } from '../database/read.js';
import { sql } from '../database/sql.js';
import { DEPLOY_LOCK } from '../deploy/locks.js';

/** What the audit of the database holds against it. `make audit` says more. */
export interface Finding {
  code: string;
  severity: string;
  object: string;
  detail: string;
}

/** When the service audits its database by itself. */
export interface AuditTimes {
  /** From the end of one audit to the beginning of the next. */
  everyMs: number;
  /** The same, until one has been run. */
  retryMs: number;
}

/** What an audit came to. */
export interface Audited {
  critical: number;
  warnings: number;
  /** When it ended, as RFC 3339 has it. */
  at: string;
}

declare module 'fastify' {
  interface FastifyInstance {
    audit: {
      /** What the last audit that could be run came to; undefined when there has been none. */
      latest(): Audited | undefined;
      /** Audits now, or waits for the audit that is under way. Never fails: when it cannot be run, that is logged. */
      run(): Promise<void>;
    };
  }
}

/**
 * The service audits the database that it serves from, at its start and then again and again: beside the requests,
 * which look at no more than what the last audit came to.
 *
 * Without times it only audits when it is told to.
 */
export const audit = plugin<{ database: Database; times: AuditTimes | null }>(
  async (app, { database, times }) => {
    let known: Finding[] = [];
    let latest: Audited | undefined;
    let failing = false;
    let running: Promise<void> | undefined;
    let timer: NodeJS.Timeout | undefined;
    let isClosed = false;

    async function attempt(): Promise<void> {
      try {
        const findings = await readFindings(database);
        if (!isClosed) {
          logChanges(app.log, known, findings);
          known = findings;
          latest = { ...countOf(findings), at: new Date().toISOString() };
          if (failing) {
            app.log.info('the audit can be run again');
          }
          failing = false;
        }
      } catch (error) {
        // What was known stays known: a database that is down for a moment has not become unsafe.
        if (!failing && !isClosed) {
          app.log.warn({ reason: (error as Error).message }, 'the audit cannot be run');
        }
        failing = true;
      }
    }

    function run(): Promise<void> {
      running ??= attempt().finally(() => {
        running = undefined;
      });
      return running;
    }

    async function repeat({ everyMs, retryMs }: AuditTimes): Promise<void> {
      await run();
      if (!isClosed) {
        timer = setTimeout(repeat, latest === undefined ? retryMs : everyMs, { everyMs, retryMs }).unref();
      }
    }

    app.decorate('audit', { latest: () => latest, run });
    app.addHook('onReady', async () => {
      if (times !== null) {
        // Not awaited: until it has ended the service listens, and is not ready.
        void repeat(times);
      }
    });
    app.addHook('onClose', async () => {
      isClosed = true;
      clearTimeout(timer);
    });
  },
  { name: 'audit' },
);

/** Whatever is no warning counts as critical, so that a severity that this code does not know alarms somebody. */
const isWarning = ({ severity }: Finding) => severity === 'warning';

function countOf(findings: Finding[]) {
  const warnings = findings.filter(isWarning).length;
  return { critical: findings.length - warnings, warnings };
}

/** Each finding is logged when it appears and when it is gone, and not every minute between. */
function logChanges(log: FastifyBaseLogger, before: Finding[], after: Finding[]): void {
  for (const { severity, ...finding } of without(after, before)) {
    log[isWarning({ severity, ...finding }) ? 'warn' : 'error'](finding, 'audit finding');
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

const ASKED = 'audit';

/**
 * Between the migrations of a deploy and its chapters nothing is as it is meant to be, so an audit keeps away from
 * it; and a deploy waits for an audit, instead of each for the locks of the other.
 */
const besideDeploys: Entry<{ asked: string; free: boolean }> = {
  tenant: NO_TENANT,
  columns: sql`${ASKED}::text as asked, pg_try_advisory_xact_lock_shared(${DEPLOY_LOCK}) as free`,
  verify: ({ asked }) => asked === ASKED,
};

/**
 * Reads what the audit finds, in some tenths of a second of one connection.
 *
 * @throws Unavailable when the database cannot be reached, or is being deployed to
 */
function readFindings(database: Database): Promise<Finding[]> {
  const requireNoDeploy = ({ free }: { free: boolean }) => {
    if (!free) {
      throw new Unavailable('A deploy is under way.');
    }
  };
  return database.transaction('read only', 'audit', besideDeploys, requireNoDeploy, async (tx) => {
    // The first statement leaves together with the entry, so it is not the audit: that waits for the entry's answer.
    // The facts are compared as they are printed, and on the path of the deploy names are printed in full.
    await tx.query(sql`select set_config('search_path', 'pg_catalog', true)`);
    return tx.query<Finding>(sql`select code, severity, object, detail from audit.findings`);
  });
}
