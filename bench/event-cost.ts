import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { numberParameters, type Query, sql } from '../src/database/sql.js';
import { compose } from '../src/database/statement.js';
import { memberContext } from '../src/database/tenant-context.js';
import { cancelSignUp, signUp } from '../src/signups/queries.js';
import { patchTask } from '../src/tasks/queries.js';
import { callerWith } from '../tools/people.js';
import { clubId, rowId } from './data.js';
import type { Environment } from './environment.js';
import { plan } from './plan.js';
import { processorUs } from './processors.js';
import { setRecording } from './recording.js';
import { type Ratio, spreadOf } from './rounds.js';

/** Pairs of slices, with and without events. */
const SLICES = plan.isQuick ? 15 : 41;
const WRITES = 150;
/** PostgreSQL plans statements again after the triggers were switched. */
const UNCOUNTED = 20;
/** Half of the statement_timeout of club_api. */
const LIMIT_MS = 2_500;
const DELETIONS = 3;
/** The club that has only members. */
const SEASON_CLUB = plan.clubs + 1;

/** A session with the login of the service. */
class Session {
  readonly client: pg.Client;
  pid = 0;

  constructor(url: string) {
    this.client = new pg.Client(url);
  }

  async connect(): Promise<void> {
    await this.client.connect();
    // A deletion that takes longer is measured, not ended.
    await this.client.query('set statement_timeout = 0');
    const { rows } = await this.client.query<{ pid: number }>('select pg_backend_pid() as pid');
    this.pid = rows[0]?.pid as number;
  }

  /** Sends the service's statement of a call. */
  async call(name: string, club: number, query: Query<unknown>): Promise<void> {
    const context = memberContext(callerWith({ sub: 'caller-1' }, clubId(club), 'Member'), false);
    const { statement } = compose('call', name, context, query);
    const { rows } = await this.client.query({ name, ...numberParameters(statement) });
    if (typeof rows[0]?.result !== 'string') {
      throw new Error(`${name}: ${JSON.stringify(rows)}`);
    }
  }
}

/** Each write is in another club than the one before, because a row that is changed again and again has many versions. */
let turn = 0;
const writes: Record<string, (session: Session, ids: Ids) => Promise<void>> = {
  'task-patch': async (session, { tasks }) => {
    turn += 1;
    const [club, id] = tasks[turn % tasks.length] as [number, string];
    await session.call('patchTask', club, patchTask(id, { title: `Title ${turn}` }, null));
  },
  'signup-cancel': async (session, { shifts }) => {
    turn += 1;
    const [club, id] = shifts[turn % shifts.length] as [number, string];
    await session.call('signUp', club, signUp(id));
    await session.call('cancelSignUp', club, cancelSignUp(id));
  },
};

type Ids = Record<'tasks' | 'shifts', [number, string][]>;

/** Some tasks and shifts of each club that have not started. */
async function readIds({ queryAsAdmin }: Environment): Promise<Ids> {
  const read = async (kind: 'task' | 'shift', last: number) => {
    const rows = await queryAsAdmin<{ club: number; id: string }>(
      'many',
      `select club, ${rowId(kind, `${last} - number`, 'club')} as id
       from generate_series(0, 9) as number, generate_series(1, ${plan.clubs}) as club`,
    );
    return rows.map(({ club, id }): [number, string] => [club, id]);
  };
  return {
    tasks: await read('task', plan.tasks / plan.clubs),
    shifts: await read('shift', plan.shifts / plan.clubs),
  };
}

/**
 * What an event costs PostgreSQL: the processor time of a session for a write with the triggers that record, minus that without,
 * divided by that without. And the longest statement of large deletions, COMMIT included, divided by half of statement_timeout.
 */
export async function measureEventCost(
  environment: Environment,
  say: (line: string) => void,
): Promise<Ratio[]> {
  const session = new Session(environment.apiUrl('many'));
  await session.connect();
  const ids = await readIds(environment);
  const ratios: Ratio[] = [];
  for (const [workload, write] of Object.entries(writes)) {
    const slice = async (isRecorded: boolean) => {
      await setRecording(environment, 'many', isRecorded);
      const repeat = async (times: number) => {
        for (let count = 0; count < times; count += 1) {
          await write(session, ids);
        }
      };
      await repeat(UNCOUNTED);
      const before = processorUs(session.pid);
      await repeat(WRITES);
      return (processorUs(session.pid) - before) / WRITES;
    };
    const shares: number[] = [];
    for (let count = 0; count < SLICES; count += 1) {
      // In alternating order.
      const first = await slice(count % 2 === 0);
      const second = await slice(count % 2 !== 0);
      const [recorded, unrecorded] = count % 2 === 0 ? [first, second] : [second, first];
      shares.push(recorded / unrecorded - 1);
      say(`${workload}: ${recorded.toFixed(0)} µs with events, ${unrecorded.toFixed(0)} without`);
    }
    await setRecording(environment, 'many', true);
    ratios.push({ workload, against: 'event-over-write', ...spreadOf(shares) });
  }
  for (const [workload, shifts, signups] of [
    ['delete-366-shifts', 366, 30],
    ['delete-10000-signups', 1, 10_000],
  ] as const) {
    const longest: number[] = [];
    for (let count = 0; count < DELETIONS; count += 1) {
      const times = await deleteShifts(environment, session, await makeBatch(environment, shifts, signups));
      longest.push(Math.max(...times) / LIMIT_MS);
      say(`${workload}: ${times.map((ms) => ms.toFixed(0)).join(' ms and COMMIT ')} ms`);
    }
    ratios.push({ workload, against: 'longest-statement-over-half-timeout', ...spreadOf(longest) });
  }
  await session.client.end();
  return ratios;
}

/** Creates shifts with signups, without triggers, and returns the id of their batch. */
async function makeBatch({ queryAsAdmin }: Environment, shifts: number, signups: number): Promise<string> {
  const batch = randomUUID();
  const club = clubId(SEASON_CLUB);
  const statements = `
    set session_replication_role = replica;
    insert into app.members (tenant_id, id, external_user_id, display_name, role)
    select '${club}', app.new_id(), 'caller-' || n, 'Caller', 'Member' from generate_series(1, ${signups}) as n
    on conflict do nothing;
    insert into app.shifts (tenant_id, id, title, starts_at, ends_at, capacity, signup_count, batch_id, created_by_id)
    select '${club}', app.new_id(), 'Season', now() + n * interval '1 day', now() + n * interval '25 hours', ${signups}, ${signups},
      '${batch}', null
    from generate_series(1, ${shifts}) as n;
    insert into app.shift_signups (tenant_id, id, shift_id, member_id, created_by_id)
    select '${club}', app.new_id(), shift.id, member.id, null
    from app.shifts as shift, (select id from app.members where tenant_id = '${club}' limit ${signups}) as member
    where shift.batch_id = '${batch}'`;
  await queryAsAdmin('many', statements);
  await queryAsAdmin('many', 'analyze app.shift_signups');
  return batch;
}

/** Deletes a batch as an Admin; returns the milliseconds of the statement and of COMMIT. */
async function deleteShifts(environment: Environment, { client }: Session, batch: string): Promise<number[]> {
  await environment.queryAsAdmin('many', 'checkpoint');
  const { sql: row } = memberContext(callerWith({ sub: 'caller-1' }, clubId(SEASON_CLUB), 'Admin'), false);
  await client.query('begin');
  await client.query(numberParameters(sql`select ${row}`));
  const started = performance.now();
  await client.query('select app.delete_batch($1, null)', [batch]);
  const deleted = performance.now();
  await client.query('commit');
  return [deleted - started, performance.now() - deleted];
}
