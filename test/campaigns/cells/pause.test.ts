import { appendFileSync, mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { haproxyMissing } from '../../setup/haproxy.js';
import { startVictim } from '../chaos/postgres.js';
import type { Club } from '../chaos/testbed.js';
import { openWire } from '../chaos/wire.js';
import { startCells, startMove, stateOf } from './testbed.js';

// SCALE=100000 for a larger club.
const tasks = Number(process.env.SCALE || 10_000);
/** Each task is created and changed twice. */
const EVENTS_OF_A_TASK = 3;
/** Each event of a transaction changes the row with the club's last number, which one with all of them would change slowly. */
const TASKS_AT_ONCE = 1_000;
/** The pause of the client between two requests. */
const REST_MS = 10;
t.setTimeout(1_800_000);

t.test(
  'a move of a large club on an idle service is measured, and has all its rows',
  { skip: haproxyMissing },
  async (t) => {
    const cells = await startCells(t, [await startVictim(t), await startVictim(t)]);
    const { west, east, haproxy } = cells;
    const club = cells.clubs[0] as Club;
    // Without the proxies of the test, which read each message.
    for (const cell of [west, east]) {
      cell.migrationUrl = cell.server.urls(cell.database).migration;
    }
    for (let made = 0; made < tasks; made += TASKS_AT_ONCE) {
      const rows = await west.queryAsAdmin(
        `insert into app.tasks (tenant_id, id, title, description, created_by_id)
         select $1, gen_random_uuid(), 'Task ' || n, repeat('What is to be done. ', 5), null from generate_series($2::integer, $3) as n
         returning id`,
        [club.id, made + 1, Math.min(made + TASKS_AT_ONCE, tasks)],
      );
      for (let change = 1; change < EVENTS_OF_A_TASK; change += 1) {
        await west.queryAsAdmin(
          `update app.tasks set title = title || '.', version = version + 1 where tenant_id = $1 and id = any ($2)`,
          [club.id, rows.map(({ id }) => id)],
        );
      }
    }
    await west.queryAsAdmin('vacuum analyze');
    const eventsIn = async ({ queryAsAdmin }: typeof west) => {
      const [row] = await queryAsAdmin(
        'select count(*)::integer as count from app.events where tenant_id = $1',
        [club.id],
      );
      return (row as { count: number }).count;
    };
    const { send, close } = openWire(haproxy.url, 60_000);
    const headers = {
      authorization: `Bearer ${cells.token(club, 'boss', 'Admin')}`,
      'x-tenant-id': club.id,
    };
    let isOver = false;
    let last: number | undefined;
    let longestMs = 0;
    const request = async () => {
      const response = await send('GET', '/api/tasks?limit=1', headers);
      if (!('failure' in response) && response.status === 200) {
        longestMs = Math.max(longestMs, performance.now() - (last ?? performance.now()));
        last = performance.now();
      }
    };
    const follow = async () => {
      while (!isOver) {
        await request();
        await sleep(REST_MS);
      }
      await request();
    };
    await request();
    const events = await eventsIn(west);
    t.ok(events >= EVENTS_OF_A_TASK * tasks);
    const following = follow();
    const { code, printed } = await startMove(cells, club, east).ended;
    isOver = true;
    await following;
    close();
    t.equal(code, 0, printed);
    const { unserved, rows } =
      /: (?<rows>\d+) rows\. No request was served for (?<unserved>[\d.]+) s/.exec(printed)?.groups ?? {};
    const line = `pause: ${unserved} s without a served request, ${(longestMs / 1_000).toFixed(1)} s for a client; ${tasks} tasks, ${events} events, ${rows} rows`;
    t.comment(line);
    mkdirSync('.tap', { recursive: true });
    appendFileSync('.tap/cells.txt', `${line}\n`);
    t.equal(await stateOf(east, club), 'open');
    t.equal(await eventsIn(east), events);
  },
);
