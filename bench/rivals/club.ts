import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { PoolClient } from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import type { Caller } from './caller.js';
import { Refusal } from './refusal.js';
import * as statements from './statements.js';

class MemberOutdated extends Error {}

/** Runs a query inside a transaction. */
export type RunQuery = <Row>(statement: statements.Statement) => Promise<Row[]>;

/** Runs work through TypeORM, in one transaction with the tenant context of the caller's club. */
@Injectable()
export class Club implements OnModuleInit {
  readonly #source = new DataSource({
    type: 'postgres',
    url: process.env.DATABASE_URL as string,
    poolSize: Number(process.env.POOL_SIZE),
    entities: [],
    installExtensions: false,
  });

  async onModuleInit(): Promise<void> {
    await this.#source.initialize();
  }

  async inside<Result>(caller: Caller, work: (query: RunQuery) => Promise<Result>): Promise<Result> {
    try {
      return await this.#attempt(caller, work, true);
    } catch (error) {
      if (!(error instanceof MemberOutdated)) {
        throw error;
      }
    }
    await this.#transaction(async (query) => {
      await query(statements.enter(caller));
      await query(statements.syncMember(caller));
    });
    return this.#attempt(caller, work, false);
  }

  #attempt<Result>(
    caller: Caller,
    work: (query: RunQuery) => Promise<Result>,
    mustBeCurrent: boolean,
  ): Promise<Result> {
    return this.#transaction(async (query) => {
      const [entry] = await query<statements.Entered>(statements.enter(caller));
      if (!entry?.clubExists) {
        throw new Refusal(403, 'tenant_forbidden');
      }
      if (entry.memberId === null || (mustBeCurrent && !entry.isCurrent)) {
        throw new MemberOutdated();
      }
      return work(query);
    });
  }

  async #transaction<Result>(work: (query: RunQuery) => Promise<Result>): Promise<Result> {
    const runner: QueryRunner = this.#source.createQueryRunner();
    try {
      const client: PoolClient = await runner.connect();
      await runner.startTransaction();
      // TypeORM's own query() cannot name a statement, so PostgreSQL would parse and plan each one again.
      const result = await work(async <Row>(statement: statements.Statement) => {
        const { rows } = await client.query(statement);
        return rows as Row[];
      });
      await runner.commitTransaction();
      return result;
    } catch (error) {
      if (runner.isTransactionActive) {
        await runner.rollbackTransaction();
      }
      throw error;
    } finally {
      await runner.release();
    }
  }
}
