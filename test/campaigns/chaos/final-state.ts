import { until } from '../../setup/wait.js';
import type { FinalRow, FinalState, Recovery } from './history.js';
import { foreignIn } from './member.js';
import { POOL_SIZE, type Target, type Testbed } from './testbed.js';
import { openWire } from './wire.js';

const SESSIONS = `from pg_stat_activity where usename like 'club\\_api%' and datname = current_database()`;

/** Waits until the database is idle. */
export async function untilIdle({ queryAsAdmin }: Target): Promise<void> {
  let calm = 0;
  const isCalm = async () => {
    const busy = await queryAsAdmin(`select ${SESSIONS} and state <> 'idle'`);
    calm = busy.length === 0 ? calm + 1 : 0;
    return calm === 4;
  };
  await until(isCalm, Boolean, { everyMs: 100 });
}

/** Reads the final state as superuser, without policies. */
export async function readFinalState(target: Target): Promise<FinalState> {
  const { queryAsAdmin } = target;
  const rowsOf = async (table: string, columns: string) =>
    (await queryAsAdmin(
      `select club.slug as club, row::text as text, ${columns}
       from app.${table} as row join app.clubs as club on club.id = row.tenant_id`,
    )) as (FinalRow & { text: string })[];
  const MARK = `substring(description from 'canary-[a-z]+-[0-9a-f]+ mark-[0-9]+') as marker`;
  const finalRows = async (table: string, columns: string): Promise<FinalRow[]> =>
    (await rowsOf(table, `row.id, version, ${MARK}, ${columns}`)).map(({ text, ...row }) => ({
      ...row,
      foreign: foreignIn(text, target, row.club),
    }));
  const others: string[] = [];
  for (const table of [
    'members',
    'shift_signups',
    'shift_waits',
    'attendance',
    'idempotency_keys',
    'events',
  ]) {
    for (const { club, text } of await rowsOf(table, 'row.tenant_id')) {
      others.push(
        ...foreignIn(text, target, club).map((other) => `a row of ${table} of ${club} holds ${other}`),
      );
    }
  }
  const placesOf = async (table: string, order: string) =>
    (await queryAsAdmin(
      `select shift_id as shift, member_id as member, created_by_id as creator from app.${table} order by ${order}`,
    )) as FinalState['signups'];
  return {
    tasks: await finalRows('tasks', `title || '|' || state as content, assignee_id as assignee`),
    shifts: await finalRows(
      'shifts',
      `title || '|' || capacity as content, capacity, signup_count as "signupCount", wait_count as "waitCount"`,
    ),
    signups: await placesOf('shift_signups', 'shift_id'),
    waits: await placesOf('shift_waits', 'created_at, id'),
    attendance: (await queryAsAdmin(
      `select club.slug as club, shift_id as shift, member_id as member, version,
         concat_ws('|', version, concat_ws(' ', status, minutes), recorded_by_id) as record
       from app.attendance join app.clubs as club on club.id = tenant_id`,
    )) as FinalState['attendance'],
    members: (await queryAsAdmin(
      `select id, case when left_at is null then 'Active' else 'Left' end as status from app.members`,
    )) as FinalState['members'],
    foreign: others,
  };
}

/** Tests whether the service has recovered: all connections usable, and no slow request. */
export async function probeRecovery(testbed: Testbed): Promise<Recovery> {
  const { queryAsAdmin, victim, database, clubs, service } = testbed;
  const refused: string[] = [];
  let slowestMs = 0;
  const wires: ReturnType<typeof openWire>[] = [];
  const workers = await Promise.all(
    clubs.slice(0, 2).map(async (club) => {
      const token = testbed.token(club, 'prober', 'Manager');
      const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': club.id };
      return async (method: string, path: string, body?: unknown) => {
        const wire = openWire(service.url, 60_000);
        wires.push(wire);
        const began = performance.now();
        const response = await wire.send(method, path, headers, body);
        // The probe itself makes the PATCHes wait.
        slowestMs = method === 'PATCH' ? slowestMs : Math.max(slowestMs, performance.now() - began);
        if ('failure' in response || response.status >= 300) {
          refused.push(`${method} ${path}: ${'failure' in response ? response.failure : response.text}`);
        }
        return 'failure' in response ? undefined : response.body;
      };
    }),
  );
  const tasks = await Promise.all(workers.map((send) => send('POST', '/api/tasks', { title: 'Probe' })));
  for (let turn = 0; turn < 3; turn += 1) {
    await Promise.all(workers.flatMap((send) => [send('GET', '/api/tasks'), send('GET', '/api/shifts')]));
  }

  // A writer of these tasks waits and holds a connection.
  const { withClient } = await import('../../../src/deploy/client.js');
  const usable = await withClient(victim.urls(database).admin, async (client) => {
    await client.query('begin');
    const ids = tasks.map((task) => task?.id).filter((id) => id !== undefined);
    await client.query('select from app.tasks where id = any ($1) for update', [ids]);
    const writes = workers.flatMap((send, club) =>
      Array.from({ length: POOL_SIZE }, (_, n) =>
        send('PATCH', `/api/tasks/${tasks[club]?.id}`, { description: `Probe ${n}` }),
      ),
    );
    let most = 0;
    const mostWaiting = async () => {
      const waiting = await queryAsAdmin(`select ${SESSIONS} and wait_event_type = 'Lock'`);
      most = Math.max(most, waiting.length);
      return most;
    };
    await until(mostWaiting, (sessions) => sessions >= POOL_SIZE, { forMs: 5_000 });
    await client.query('rollback');
    await Promise.all(writes);
    return most;
  });
  const sessions = (await queryAsAdmin(`select ${SESSIONS}`)).length;
  for (const wire of wires) {
    wire.close();
  }
  // The writers of the probe compete on purpose: version conflicts are expected.
  const broken = refused.filter((refusal) => !refusal.includes('task_version_conflict'));
  return { poolSize: POOL_SIZE, sessions, usable, refused: broken, slowestMs };
}
