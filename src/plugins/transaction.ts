import plugin from 'fastify-plugin';
import { type Caller, type ClubTransaction, inClub, inDirectory } from '../database/context.js';
import type { Database } from '../database/database.js';
import type { Transaction } from '../database/transaction.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller's member, once the request has entered its club; null before, and where there is no club. */
    memberId: string | null;
    /**
     * Runs work in the one transaction of this request, inside the caller's club. For GET and HEAD it reads, and
     * asks once.
     * The reply waits for it, so a success that is sent has been committed.
     */
    transaction<Result>(work: (tx: ClubTransaction) => Promise<Result>): Promise<Result>;
    /** The same for the path that belongs to no club: work sees the clubs that the token names. */
    directory<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  }
}

/** One request, one slot, one transaction. */
export const transaction = plugin<{ database: Database }>(
  async (app, { database }) => {
    app.decorateRequest('memberId', null);

    app.decorateRequest('transaction', async function (work) {
      if (this.tenant === null) {
        throw new Error('This route belongs to no club.');
      }
      const { identity, testMemberId } = this;
      const mode = this.method === 'GET' || this.method === 'HEAD' ? 'read once' : 'read write';
      const caller: Caller = {
        identity,
        tenantId: this.tenant.id,
        role: this.tenant.role,
        testMemberId,
        memberId: null,
      };
      try {
        return await inClub(database, caller, mode, work);
      } finally {
        this.memberId = caller.memberId;
      }
    });

    app.decorateRequest('directory', async function (work) {
      return inDirectory(database, [...this.identity.roles.keys()], work);
    });
  },
  { name: 'transaction', dependencies: ['test-user'] },
);
