import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../../../src/deploy/client.js';
import { deploy } from '../../../src/deploy/deploy.js';
import type { Injection } from './nemesis.js';
import { BACKENDS, type Testbed } from './testbed.js';

/** Applies SQL, waits, and reverts it. */
const forAWhile =
  (harm: string, cure: string, mostMs: number): Injection =>
  async ({ queryAsAdmin, database }, random) => {
    await queryAsAdmin(harm.replace('DATABASE', database));
    await queryAsAdmin(`select pg_terminate_backend(pid) ${BACKENDS}`);
    await sleep(random() * mostMs);
    await queryAsAdmin(cure.replace('DATABASE', database));
    // Settings apply to new sessions only.
    await queryAsAdmin(`select pg_terminate_backend(pid) ${BACKENDS}`);
  };

/** Holds a lock on a table, like a transaction that was left open. */
const locking =
  (table: string): Injection =>
  async ({ victim, database }: Testbed, random) => {
    await withClient(victim.urls(database).admin, async (client) => {
      await client.query(`begin; lock table ${table} in access exclusive mode`);
      await sleep(random() * 2_000);
      await client.query('commit');
    });
  };

/** Equivalent types of text columns; the last one is the original. */
export const COLUMN_TYPES = ['varchar(10000)', 'text'] as const;

/** Changes the type of a text column of each table, so that the result types of prepared statements change. */
export async function changeColumnTypes(
  { queryAsAdmin }: Testbed,
  type: (typeof COLUMN_TYPES)[number],
): Promise<void> {
  await queryAsAdmin(`alter table app.tasks alter column description type ${type}`);
  await queryAsAdmin(`alter table app.shifts alter column description type ${type}`);
}

const DEPLOY_MS = 10_000;

/** Deploys, and records a deploy that takes too long: requests delay its locks, and it retries. */
export async function deployInTime({ victim, database, failedDeploys }: Testbed): Promise<void> {
  const began = performance.now();
  const deploying = deploy(victim.urls(database).migration).then(
    () => true,
    (error: Error) => {
      failedDeploys.push(`a deploy failed: ${error.message}`);
      return true;
    },
  );
  const isOver = await Promise.race([deploying, sleep(DEPLOY_MS, false, { ref: false })]);
  if (!isOver) {
    failedDeploys.push(`no deploy came through in ${Math.round(performance.now() - began)} ms`);
  }
}

/** Operators' actions on the database and the identity provider while the service runs. */
export const OPERATORS: Record<string, Injection> = {
  'statements cancelled': async ({ queryAsAdmin }, random) => {
    for (let turn = 0; turn < 10; turn += 1) {
      await queryAsAdmin(`select pg_cancel_backend(pid) ${BACKENDS}`);
      await sleep(random() * 50);
    }
  },
  'connections refused by a limit': forAWhile(
    'alter database DATABASE connection limit 0',
    'alter database DATABASE connection limit -1',
    800,
  ),
  'the database read-only': forAWhile(
    'alter role club_api in database DATABASE set default_transaction_read_only = on',
    'alter role club_api in database DATABASE reset default_transaction_read_only',
    800,
  ),
  'every statement out of time': forAWhile(
    "alter role club_api in database DATABASE set statement_timeout = '2ms'",
    'alter role club_api in database DATABASE reset statement_timeout',
    800,
  ),
  'the right to tasks taken away': forAWhile(
    'revoke select, update on app.tasks from club_api',
    `grant select on app.tasks to club_api;
     grant update (title, description, due_at, assignee_id, state) on app.tasks to club_api`,
    500,
  ),
  'the disk full': async ({ queryAsAdmin }, random) => {
    // As a deploy does: requests lock it before all other tables, so that none waits for this while this waits for it.
    const lock = 'lock app.members in access exclusive mode';
    await queryAsAdmin(
      `${lock};
       create function public.full_disk() returns trigger language plpgsql as $$ begin raise exception using errcode = '53100'; end $$;
       create trigger full_disk before insert or update on app.tasks for each row execute function public.full_disk();
       create trigger full_disk before insert on app.shift_signups for each row execute function public.full_disk();
       create trigger full_disk before insert on app.shift_waits for each row execute function public.full_disk()`,
    );
    await sleep(random() * 800);
    await queryAsAdmin(
      `${lock}; drop trigger full_disk on app.tasks; drop trigger full_disk on app.shift_signups;
       drop trigger full_disk on app.shift_waits; drop function public.full_disk`,
    );
  },
  'tasks locked': locking('app.tasks'),
  'shifts locked': locking('app.shifts'),
  'tables rewritten': async ({ queryAsAdmin }) => {
    await queryAsAdmin('vacuum full app.tasks');
    await queryAsAdmin('vacuum full app.shift_signups');
    await queryAsAdmin('vacuum full app.shift_waits');
  },
  'a column added and dropped': async ({ queryAsAdmin }) => {
    await queryAsAdmin('alter table app.tasks add column colour text');
    await sleep(100);
    await queryAsAdmin('alter table app.tasks drop column colour');
  },
  'columns of other types': async (testbed) => {
    for (const type of COLUMN_TYPES) {
      await changeColumnTypes(testbed, type);
      await sleep(100);
    }
  },
  'a deploy': deployInTime,
  'the identity provider away': async ({ issuer }, random) => {
    await issuer.stop();
    await sleep(random() * 1_000);
    await issuer.start();
  },
};
