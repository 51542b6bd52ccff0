import pg from 'pg';
import type { Test } from 'tap';
import type { Role } from '../../src/roles.js';
import { literal } from './catalog-rows.js';
import type { TestDatabase } from './database.js';

/** Who a transaction enters as. */
export interface Caller {
  clubId: string;
  subject: string;
  role: Role;
}

/** The call of app.enter by a caller, as SQL for a from clause; `claims` are its further arguments, such as display_name. */
export function enter({ clubId, subject, role }: Caller, claims: Record<string, string | null> = {}): string {
  const named = Object.entries({ tenant_id: clubId, user_id: subject, role, ...claims });
  return `app.enter(${named.map(([name, value]) => `${name} => ${literal(value)}`).join(', ')})`;
}

/** Raw SQL as the runtime role, with another driver than the service's. */
export interface RuntimeSession {
  client: pg.Client;
  /** Begins a transaction and enters the club; the caller ends it. */
  begin(caller: Caller): Promise<void>;
  /** Runs work in a transaction inside the club, after earlier calls. */
  inside<Result>(caller: Caller, work: () => Promise<Result>): Promise<Result>;
  /** Runs one statement in its own transaction; returns its rows or the SQLSTATE of its error. */
  run(caller: Caller, sql: string, values?: unknown[]): Promise<Outcome>;
  /** Makes the caller a member, as their first request does; returns the id. */
  join(caller: Caller): Promise<string>;
}

export interface Outcome {
  /** The SQLSTATE, or `ok`. */
  code: string;
  /** The violated constraint. */
  constraint?: string | undefined;
  rowCount: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into rows of every shape
  rows: any[];
}

const TIME_LIMITS = ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'];

/** The URL of a login, without the time limits of its role: a test that is not about them can hold locks for long. */
export function withoutTimeLimits(url: string): string {
  const changed = new URL(url);
  for (const name of TIME_LIMITS) {
    changed.searchParams.set(name, '0');
  }
  return changed.href;
}

/** Connects with the login of the deploy, as an operator does who calls functions of club_owner. */
export async function connectAsOperator(t: Test, { migrationUrl }: TestDatabase): Promise<pg.Client> {
  const client = new pg.Client(migrationUrl);
  await client.connect();
  t.teardown(() => client.end());
  await client.query('set role club_owner');
  return client;
}

/** Connects with the login of the service, without its time limits. */
export async function connectAsRuntime(t: Test, db: TestDatabase): Promise<RuntimeSession> {
  const client = new pg.Client(withoutTimeLimits(db.url));
  client.on('error', () => {});
  await client.connect();
  t.teardown(() => client.end());

  const begin: RuntimeSession['begin'] = async (caller) => {
    await client.query('begin');
    await client.query(`select ${enter(caller)}`);
  };

  // One transaction at a time: those of concurrent callers must not interleave on one session.
  let last: Promise<unknown> = Promise.resolve();
  const inside: RuntimeSession['inside'] = (caller, work) => {
    const result = last.then(() => transact(caller, work));
    last = result.catch(() => {});
    return result;
  };

  const transact: RuntimeSession['inside'] = async (caller, work) => {
    try {
      await begin(caller);
      const result = await work();
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback');
      throw error;
    }
  };

  const run: RuntimeSession['run'] = async (caller, sql, values = []) => {
    try {
      const { rows, rowCount } = await inside(caller, () => client.query(sql, values));
      return { code: 'ok', rowCount: rowCount ?? 0, rows };
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) {
        throw error;
      }
      return { code: String(error.code), constraint: error.constraint, rowCount: 0, rows: [] };
    }
  };

  const join: RuntimeSession['join'] = (caller) =>
    inside(caller, async () => {
      const { rows } = await client.query('select app.sync_member($1, null, null) as id', [caller.subject]);
      return rows[0].id;
    });

  return { client, begin, inside, run, join };
}
