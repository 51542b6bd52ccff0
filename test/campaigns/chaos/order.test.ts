import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import t from 'tap';
import { enter } from '../../setup/runtime.js';
import { randomOf, seedOf } from '../random.js';
import { checkFeed } from './checker/feeds.js';
import { readFinalState } from './final-state.js';
import { follow } from './follower.js';
import { makeCommonDatabase } from './postgres.js';
import { BACKENDS, type Club, startTestbed } from './testbed.js';

// Short in `make campaigns`; `make chaos` sets the duration.
const seconds = Number(process.env.DURATION || 20);
const seed = seedOf(Boolean(process.env.DURATION));
/** How much longer it may take until enough has happened. */
const MORE_MS = 120_000;
t.setTimeout((seconds + 600) * 1_000);

const WRITERS = Array.from({ length: 20 }, (_, index) => `writer-${index}`);
/** A fast follower reads between two commits, one with short pages and one that is rarely there have others to agree with. */
const FOLLOWERS = [
  { limit: 100, restMs: 0 },
  { limit: 20, restMs: 10 },
  { limit: 100, restMs: 500 },
];
/** Why a transaction fails here: another one was first, or its session was terminated. */
const EXPECTED = ['40001', '40P01', '55P03', '57014', '57P01'];

const testbed = await startTestbed(t, await makeCommonDatabase(t), {
  program: 'dist/development/src/server.js',
});
const clubs = testbed.clubs.slice(0, 2) as [Club, Club];
const url = testbed.victim.urls(testbed.database).api;
const COMMITTED = ['committed in one club', 'committed in the other'] as const;
/** The transactions by their end. */
const counts = { [COMMITTED[0]]: 0, [COMMITTED[1]]: 0, 'rolled back': 0, failed: 0 };
const unexpected: string[] = [];
/** Tasks that may exist, so that writers meet at the same rows. */
const tasks: string[] = [];

const callAs = (club: Club, subject: string) =>
  `select ${enter({ clubId: club.id, subject, role: 'Manager' })}`;
const isEnough = () => Math.min(...Object.values(counts)) > seconds;

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** Transactions of one member, one after another, and another one after one that failed. */
async function write(subject: string, random: () => number, isOver: () => boolean): Promise<void> {
  const chance = (share: number) => random() < share;
  let client: pg.Client | undefined;
  while (!isOver()) {
    // Most of them in one club, where they wait for each other.
    const place = chance(0.8) ? 0 : 1;
    try {
      client ??= await connect();
      await client.query(chance(0.1) ? 'begin isolation level repeatable read' : 'begin');
      await client.query(callAs(clubs[place], subject));
      await change(client, random);
      const { command } = await client.query(chance(0.15) ? 'rollback' : 'commit');
      counts[command === 'COMMIT' ? COMMITTED[place] : 'rolled back'] += 1;
    } catch (error) {
      counts.failed += 1;
      const code = error instanceof pg.DatabaseError ? String(error.code) : '57P01';
      if (!EXPECTED.includes(code)) {
        unexpected.push(`${code}: ${(error as Error).message}`);
      }
      await client?.end().catch(() => {});
      client = undefined;
    }
  }
  await client?.end();
}

/** Changes some tasks, with pauses in which other transactions commit. */
async function change(client: pg.Client, random: () => number): Promise<void> {
  const chance = (share: number) => random() < share;
  const pause = (mostMs: number) => sleep(random() * mostMs);
  for (let count = Math.floor(random() * 3); count >= 0; count -= 1) {
    const { rows } = await client.query(`insert into app.tasks (title) values ('x') returning id`);
    tasks.push(rows[0].id);
    await pause(15);
  }
  if (chance(0.2)) {
    await client.query(`savepoint here; insert into app.tasks (title) values ('lost'); rollback to here`);
  }
  if (chance(0.5)) {
    // At most one, and the last: two would lock their rows in different orders.
    const id = tasks[Math.max(0, tasks.length - 1 - Math.floor(random() * 60))];
    await client.query(`update app.tasks set title = 'x' || version where id = $1`, [id]);
    await pause(5);
  }
  if (chance(0.2)) {
    // The events have their numbers, and are not visible yet.
    await client.query('set constraints all immediate');
    await pause(20);
  }
}

t.test('every follower reads each committed change once, in one order, without a gap', async (t) => {
  t.comment(`order seed: ${seed}`);
  const joining = await connect();
  for (const club of clubs) {
    for (const subject of WRITERS) {
      await joining.query(`${callAs(club, subject)}; select app.sync_member('${subject}', null, null)`);
    }
  }
  await joining.end();

  let isOver = false;
  const following = clubs.map((club) =>
    Promise.all(FOLLOWERS.map((pace) => follow(testbed, club, { ...pace, isOver: async () => isOver }))),
  );
  const ends = performance.now() + seconds * 1_000;
  // On a slow machine it takes longer.
  const hasEnded = () => performance.now() > (isEnough() ? ends : ends + MORE_MS);
  const writing = WRITERS.map((subject, place) => write(subject, randomOf(seed + place), hasEnded));
  while (!hasEnded()) {
    // The one that has been connected for the longest time, so that it is everyone's turn.
    await testbed.queryAsAdmin(
      `select pg_terminate_backend(pid) from (select pid ${BACKENDS} order by backend_start limit 1) as one`,
    );
    await sleep(100);
  }
  await Promise.all(writing);
  isOver = true;
  const feeds = await Promise.all(following);
  const finalState = await readFinalState(testbed);

  for (const followers of feeds) {
    const [first, ...others] = followers.map(({ events }) => events.map(({ id }) => id));
    for (const order of others) {
      t.ok(String(order) === String(first), 'all followers read the same order');
    }
    for (const feed of followers) {
      const violations: string[] = [];
      checkFeed(feed, finalState, (_, proof) => violations.push(proof));
      t.same(violations.slice(0, 20), []);
    }
  }
  t.same(unexpected.slice(0, 10), [], 'no other error');
  const read = feeds.map(([feed]) => feed?.events.length ?? 0);
  t.ok(isEnough(), 'enough of everything happened');
  const parts = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  t.comment(`order of events: ${read.join(' and ')} events in two clubs, transactions ${parts.join(', ')}`);
});
