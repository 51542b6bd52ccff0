import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Database } from '../database/database.js';
import {
  isStatementError,
  reasonOf,
  Standby,
  Unavailable,
  UnsafeDatabase,
  WrongLogin,
} from '../database/errors.js';
import { Problem } from '../errors/problem.js';
import { serviceUnavailable } from '../errors/server.js';
import { NoQuery } from '../validation/schemas.js';
import type { IsolationAudit } from './isolation-audit.js';
import { isDeployed } from './schema-version.js';

const Alive = Type.Object({ status: Type.String() }, { examples: [{ status: 'live' }] });

const Ready = Type.Object(
  {
    status: Type.String(),
    audit: Type.Object(
      {
        critical: Type.Integer({
          minimum: 0,
          description:
            'Findings that mean that a club could reach the rows of another club, or that the audit cannot tell.',
        }),
        warnings: Type.Integer({ minimum: 0, description: 'Other findings.' }),
        at: Type.String({ format: 'date-time', description: 'When the audit was run.' }),
        stale: Type.Boolean({
          description: 'Whether no audit has run for ten minutes: the log has the reason.',
        }),
      },
      { description: 'The result of the last audit of the isolation of clubs; it runs every minute.' },
    ),
  },
  {
    examples: [
      { status: 'ready', audit: { critical: 0, warnings: 0, at: '2026-05-01T18:00:00.000Z', stale: false } },
    ],
  },
);

/** Later probes share the query of an earlier one for this long, in milliseconds. */
const SHARED_FOR_MS = 250;

/** Not ready, and why: for the caller and, with what only an operator may read, for the log. */
function notReady(detail: string, reason = detail): Problem {
  return new Problem(serviceUnavailable, { detail }, { reason });
}

/** The error of a probe whose query failed: without a usable database the process is not ready, but no request has failed. */
function probeError(error: unknown): unknown {
  if (error instanceof WrongLogin) {
    return notReady('The login of DATABASE_URL lacks the privileges of the service.', reasonOf(error));
  }
  if (error instanceof Standby) {
    return notReady(error.message);
  }
  if (error instanceof UnsafeDatabase) {
    return notReady(
      'Row-level security does not apply to the login or the database. The log has the reason.',
      reasonOf(error),
    );
  }
  if (isStatementError(error)) {
    return notReady(
      `The database rejected the query of this probe (SQLSTATE ${error.code}).`,
      reasonOf(error),
    );
  }
  return error instanceof Unavailable
    ? notReady('The database cannot be used. The log has the reason.', reasonOf(error))
    : error;
}

export interface HealthOptions {
  database: Database;
  /** Whether the process is about to stop. */
  isDraining: () => boolean;
  audit: IsolationAudit;
}

/** `/livez` and `/readyz`, for the public port and the metrics port alike: no token, no club. */
export const health: FastifyPluginAsyncTypebox<HealthOptions> = async (
  app,
  { database, isDraining, audit },
) => {
  // Many probes at once share one query, so that they do not fill the queue. After that time another query is sent,
  // because the connection of the first may hang.
  let sent: { at: number; result: Promise<boolean> } | undefined;
  const isCurrent = () => {
    const now = performance.now();
    if (sent === undefined || now - sent.at > SHARED_FOR_MS) {
      const result = isDeployed(database).finally(() => {
        if (sent?.result === result) {
          sent = undefined;
        }
      });
      sent = { at: now, result };
    }
    return sent.result;
  };

  app.get(
    '/livez',
    {
      schema: {
        operationId: 'isAlive',
        tags: ['Operations'],
        summary: 'Whether the process responds',
        description: 'Checks the process alone: a database that is down is no reason to restart it.',
        security: [],
        querystring: NoQuery,
        response: { 200: Alive },
      },
    },
    async () => ({ status: 'live' }),
  );

  app.get(
    '/readyz',
    {
      schema: {
        operationId: 'isReady',
        tags: ['Operations'],
        summary: 'Whether the database can be reached, is not older than the code, and keeps clubs apart',
        description: 'With 503 the process should get no requests; `detail` says why.',
        security: [],
        querystring: NoQuery,
        errors: [serviceUnavailable],
        response: { 200: Ready },
      },
    },
    async () => {
      if (isDraining()) {
        throw notReady('The process is about to stop.');
      }
      const deployed = await isCurrent().catch((error) => {
        throw probeError(error);
      });
      if (!deployed) {
        throw notReady('The database is older than this release. Deploy first: node dist/migrate.js.');
      }
      const audited = audit.latest();
      if (audited === undefined) {
        throw notReady('The database has not been audited yet.');
      }
      if (audited.critical > 0) {
        throw notReady(
          `The isolation audit found ${audited.critical} critical finding${audited.critical === 1 ? '' : 's'}. ` +
            'Run node dist/audit.js.',
        );
      }
      return { status: 'ready', audit: { ...audited, stale: audit.isStale() } };
    },
  );
};
