import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import type { Database } from '../database/database.js';
import type { LeaseKind } from '../database/pool.js';
import type { Query } from '../database/sql.js';
import {
  type Caller,
  readDirectory,
  readInTenant,
  type TenantTransaction,
  writeInTenant,
} from '../database/tenant-context.js';
import { type UtcTimes, utcTimesOf } from './utc-times.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Rewrites the times of a row; compiled from the response schema of the route. */
    utcTimes?: UtcTimes;
  }
  interface FastifyRequest {
    /** The id of the caller's member; null before the tenant context is set, and for routes without a club. */
    memberId: string | null;
    /**
     * Reads rows inside the caller's club, with one statement, which is the one transaction of this request.
     *
     * @param lease `shared` only for a query that an index bounds
     */
    read<Row>(query: Query<Row>, lease?: LeaseKind): Promise<Row[]>;
    /**
     * Runs work in the one transaction of this request, inside the caller's club. Await it before the reply, so that a
     * success is sent after COMMIT.
     */
    transaction<Result>(work: (tx: TenantTransaction) => Promise<Result>): Promise<Result>;
    /** Reads rows outside of a club: the query sees the clubs that the token names. */
    readDirectory<Row>(query: Query<Row>): Promise<Row[]>;
  }
}

/** Gives each request its one read or transaction. */
export const requestTransaction = plugin<{ database: Database }>(
  async (app, { database }) => {
    app.decorateRequest('memberId', null);

    app.addHook('onRoute', function (route) {
      const utcTimes = utcTimesOf(route.schema?.response, (id) => this.getSchema(id));
      route.config = { ...route.config, utcTimes };
    });

    app.decorateRequest('read', async function (query, lease = 'exclusive') {
      const { rows, memberId } = await readInTenant(database, callerOf(this), nameOf(this), lease, query);
      this.memberId = memberId;
      rows.forEach(this.routeOptions.config.utcTimes as UtcTimes);
      return rows;
    });

    app.decorateRequest('transaction', async function (work) {
      return writeInTenant(database, callerOf(this), nameOf(this), (tx) => {
        // Not awaited, so that the first statement is sent with the entry.
        tx.entered.then(
          ({ memberId }) => {
            this.memberId = memberId;
          },
          () => {},
        );
        return work(tx);
      });
    });

    app.decorateRequest('readDirectory', async function (query) {
      const rows = await readDirectory(database, [...this.identity.roles.keys()], nameOf(this), query);
      rows.forEach(this.routeOptions.config.utcTimes as UtcTimes);
      return rows;
    });
  },
  { name: 'request-transaction', dependencies: ['test-user'] },
);

function callerOf({ identity, tenant, testMemberId }: FastifyRequest): Caller {
  if (tenant === null) {
    throw new Error('This route belongs to no club.');
  }
  const { subject, displayName, email, issuedAt } = identity;
  return { tenantId: tenant.id, role: tenant.role, subject, displayName, email, issuedAt, testMemberId };
}

function nameOf({ routeOptions }: FastifyRequest): string {
  return routeOptions.schema?.operationId ?? 'unnamed';
}
