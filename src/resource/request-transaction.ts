import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { tenantOf } from '../auth/tenant.js';
import type { Database } from '../database/database.js';
import { isStatementError, raisedDetail } from '../database/errors.js';
import type { Json } from '../database/json.js';
import type { Query } from '../database/sql.js';
import {
  type Caller,
  callInTenant,
  readDirectory,
  readInTenant,
  type TenantResult,
  type TenantTransaction,
  writeInTenant,
} from '../database/tenant-context.js';
import type { LoggedCaller } from '../http/log-line.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The id of the caller's member; null before the tenant context is set, and for routes without a club. */
    memberId: string | null;
    /** Reads rows inside the caller's club, with one statement, which is the one transaction of this request. */
    read<Row>(query: Query<Row>): Promise<Json<Row>[]>;
    /** Calls a function that writes inside the caller's club, with one statement: the one transaction of this request. */
    call<Row>(query: Query<Row>): Promise<Json<Row>[]>;
    /**
     * Runs work in the one transaction of this request, inside the caller's club. Await it before the reply, so that a
     * success is sent after COMMIT.
     */
    transaction<Result>(work: (tx: TenantTransaction) => Promise<Result>): Promise<Result>;
    /** Reads rows outside of a club: the query sees the clubs that the token names, and the caller's memberships in them. */
    readDirectory<Row>(query: Query<Row>): Promise<Json<Row>[]>;
  }
}

/** Gives each request its one read, call or transaction. */
export const requestTransaction = plugin<{ database: Database }>(
  async (app, { database }) => {
    app.decorateRequest('memberId', null);

    const rowsOf = <Row>(request: FastifyRequest, { rows, memberId }: TenantResult<Row>): Json<Row>[] => {
      request.memberId = memberId;
      return rows;
    };

    app.decorateRequest('read', async function (query) {
      return rowsOf(this, await readInTenant(database, callerOf(this), nameOf(this), query));
    });

    app.decorateRequest('call', async function (query) {
      try {
        return rowsOf(this, await callInTenant(database, callerOf(this), nameOf(this), query));
      } catch (error) {
        // A refused call returns no row: the functions add the id of the member to their errors.
        if (isStatementError(error)) {
          this.memberId = raisedDetail(error).memberId ?? null;
        }
        throw error;
      }
    });

    app.decorateRequest('transaction', async function (work) {
      return writeInTenant(database, callerOf(this), nameOf(this), (tx) => {
        this.memberId = tx.context.memberId;
        return work(tx);
      });
    });

    app.decorateRequest('readDirectory', async function (query) {
      const { subject, roles } = this.identity;
      return readDirectory(database, { subject, clubIds: [...roles.keys()] }, nameOf(this), query);
    });
  },
  { name: 'request-transaction', dependencies: ['test-user'] },
);

/** Who sent a request, for the access log: as far as it is known. */
export function loggedCaller({ tenant, memberId }: FastifyRequest): LoggedCaller {
  return { tenant: tenant?.id, member: memberId ?? undefined };
}

function callerOf(request: FastifyRequest): Caller {
  const { id: tenantId, role } = tenantOf(request);
  return { ...request.identity, tenantId, role, testMemberId: request.testMemberId };
}

function nameOf({ routeOptions }: FastifyRequest): string {
  return routeOptions.schema?.operationId ?? 'unnamed';
}
