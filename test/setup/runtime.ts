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

/**
 * Lifts the time limits of the service's login for later sessions of this database: on a slow machine a test holds locks
 * for longer.
 */
export async function liftTimeLimits(db: TestDatabase): Promise<void> {
  await db.queryAsAdmin(`do $$
    declare
      name text;
    begin
      foreach name in array '{lock_timeout, statement_timeout, idle_in_transaction_session_timeout}'::text[] loop
        execute format('alter role club_api in database %I set %I = 0', current_database(), name);
      end loop;
    end $$`);
}

/** Connects with the login of the service. */
export async function connectAsRuntime(t: Test, db: TestDatabase): Promise<RuntimeSession> {
  const client = new pg.Client(db.url);
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
