import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import { root } from '../../../tools/root.js';
import { startHaproxy, type TestHaproxy } from '../../setup/haproxy.js';
import { startProxy, type TestProxy } from '../../setup/proxy.js';
import type { Victim } from '../chaos/postgres.js';
import type { ServiceProcess } from '../chaos/process.js';
import { type Club, makeTarget, startProcess, type Target } from '../chaos/testbed.js';

/** A PostgreSQL server with a process of the service. */
export interface Cell {
  /** The backend of HAProxy. */
  name: 'west' | 'east';
  server: Victim;
  database: string;
  /** Between the database, and the service and the command. Its address stays when the server is restarted. */
  proxy: TestProxy;
  /** The login of the deploy, through the proxy. */
  migrationUrl: string;
  service: ServiceProcess;
  queryAsAdmin: Target['queryAsAdmin'];
}

/** Two cells behind HAProxy, which is the only entrance. Their clubs are in the west at first. */
export interface Cells extends Target {
  west: Cell;
  east: Cell;
  haproxy: TestHaproxy;
}

/** What a database has of a club. */
export type State = 'open' | 'leaving' | 'moved' | 'arriving' | 'absent';

/** The command that moves a club, as a child process. */
export interface Command {
  kill(): void;
  /** How it ended; the code is null if it was killed. */
  ended: Promise<{ code: number | null; printed: string }>;
}

/** Starts two cells with three clubs. @param servers of the west and the east */
export async function startCells(t: Test, servers: [Victim, Victim]): Promise<Cells> {
  const target = await makeTarget(t, servers[0]);
  const startCell = async (name: Cell['name'], server: Victim, database: string): Promise<Cell> => {
    const { api, migration } = server.urls(database);
    const proxy = await startProxy(t, api);
    proxy.onMessage = () => forget(proxy);
    const through = new URL(migration);
    through.host = new URL(proxy.url).host;
    return {
      ...{ name, server, database, proxy, migrationUrl: through.href },
      service: await startProcess(t, target, 'dist/server.js', proxy.url),
      queryAsAdmin: (sql, values) => server.queryAsAdmin(database, sql, values),
    };
  };
  const [west, east] = await Promise.all([
    startCell('west', servers[0], target.database),
    startCell('east', servers[1], await servers[1].makeDatabase()),
  ]);
  const haproxy = await startHaproxy(t, { west: west.service.url, east: east.service.url });
  target.entrances.push(haproxy.url);
  const queryAsAdmin: Target['queryAsAdmin'] = async (sql, values) =>
    (await Promise.all([west, east].map((cell) => cell.queryAsAdmin(sql, values)))).flat();
  return { ...target, queryAsAdmin, west, east, haproxy };
}

/** Passes a message and does not keep it. */
export function forget(proxy: TestProxy): 'pass' {
  proxy.log.length = 0;
  return 'pass';
}

/** Runs `node dist/club.js move`. */
export function startMove(
  { west, east, haproxy }: Cells,
  club: Club,
  to: Cell,
  option?: '--resume' | '--abort',
): Command {
  const from = to === west ? east : west;
  const args = ['move', club.id, to.name, ...(option === undefined ? [] : [option])];
  const child = spawn(process.execPath, [join(root, 'dist/club.js'), ...args], {
    env: {
      PATH: process.env.PATH,
      MIGRATION_DATABASE_URL: from.migrationUrl,
      TARGET_DATABASE_URL: to.migrationUrl,
      HAPROXY_MAP: haproxy.map,
      HAPROXY_SOCKETS: haproxy.socket,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = Promise.all([text(child.stdout), text(child.stderr)]);
  const ended = once(child, 'exit').then(async ([code]) => ({ code, printed: (await printed).join('') }));
  return { kill: () => void child.kill('SIGKILL'), ended };
}

/** The state of a club in the database of a cell. */
export async function stateOf({ queryAsAdmin }: Cell, { id }: Club): Promise<State> {
  const [row] = await queryAsAdmin(
    `select coalesce(move_state, case when closed_at is null then 'open' end) as state from app.clubs where id = $1`,
    [id],
  );
  return row === undefined ? 'absent' : row.state;
}

/**
 * Removes what a cell has kept of a club that has moved.
 *
 * @returns false if the events of the club in the other cell do not begin with those that this one has
 */
export async function removeMoved(from: Cell, to: Cell, { id }: Club): Promise<boolean> {
  const digest = async ({ queryAsAdmin }: Cell, last: number) => {
    const [row] = await queryAsAdmin(
      `select count(*)::integer as count, max(sequence)::integer as last, md5(string_agg(concat_ws(' ', sequence, id), ',' order by sequence)) as hash
       from app.events where tenant_id = $1 and sequence <= $2`,
      [id, last],
    );
    return row as { count: number; last: number; hash: string };
  };
  const left = await digest(from, 2 ** 31);
  const arrived = await digest(to, left.last);
  await from.queryAsAdmin(`select app.forget_club($1, '0')`, [id]);
  return left.count > 0 && left.hash === arrived.hash && left.count === arrived.count;
}
