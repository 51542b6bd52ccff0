import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { QueueFull, Unavailable } from '../../src/database/errors.js';
import {
  DIRECTORY,
  type Lease,
  type LeaseKind,
  NO_TENANT,
  Pool,
  type PoolOptions,
} from '../../src/database/pool.js';
import { RoundRobinQueue } from '../../src/database/round-robin-queue.js';
import { sql } from '../../src/database/sql.js';
import { type Advance, stopClock } from '../setup/clock.js';
import { makeDatabase } from '../setup/database.js';
import { startProxy } from '../setup/proxy.js';
import { until } from '../setup/wait.js';

const db = await makeDatabase(t);
const AT_REST = { inUse: 0, queued: 0 };
const PID = sql`select pg_backend_pid() as pid`;
/** As in src/database/pool.ts and connection.ts. */
const QUEUE_PER_TENANT = 5_000;
const QUEUE_LENGTH = 10_000;
const MAX_WAIT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 2_000;
const SHARING_WINDOW_MS = 1_000;
const RECHECK_MS = 100;
const SLOW_READ_MS = 250;
const MAX_AGE_MS = 30 * 60_000;

/** A test whose clock stands still: only `advance` lets a limit pass. */
function test(title: string, work: (t: Test, advance: Advance) => Promise<void>): void {
  t.test(title, (t) => work(t, stopClock(t)));
}

function makePool(t: Test, options: Partial<PoolOptions> = {}): Pool {
  const pool = new Pool({ url: db.url, prepare: true, size: 3, readsPerConnection: 1, ...options });
  // Not awaited: a lost connection fails its own test, not the following ones.
  t.teardown(() => void pool.close());
  return pool;
}

const backendOf = async ({ connection }: Lease): Promise<number> =>
  (await connection.query<{ pid: number }>(PID))[0]?.pid as number;
const backends = async (): Promise<number[]> => {
  const rows = await db.queryAsAdmin<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'club-management-service'`,
  );
  return rows.map(({ pid }) => pid);
};
/** Requests a lease, and records the result. */
function requestLease(
  pool: Pool,
  kind: LeaseKind,
  tenant: string,
): { lease?: Lease; error?: unknown; done: Promise<void> } {
  const request: { lease?: Lease; error?: unknown; done: Promise<void> } = { done: Promise.resolve() };
  request.done = pool.acquire(kind, tenant).then(
    (lease) => {
      request.lease = lease;
    },
    (error) => {
      request.error = error;
    },
  );
  return request;
}
/** Opens all connections. */
async function warm(pool: Pool): Promise<void> {
  const opening = Array.from({ length: pool.size }, () => pool.acquire('exclusive', NO_TENANT));
  for (const lease of await Promise.all(opening)) {
    pool.release(lease);
  }
}
const connectionsOf = (leases: Lease[]) => new Set(leases.map(({ connection }) => connection)).size;
/** The number of these leases that are granted. While the clock stands still, a later one needs a request or a release. */
async function granted(requests: { lease?: Lease }[]): Promise<number> {
  await nextTurn();
  return requests.filter(({ lease }) => lease !== undefined).length;
}
const message = (error: unknown) => (error instanceof Unavailable ? error.message : error);

// The queue.

t.test('tenants take turns, and the requests of each are served in order of arrival', async (t) => {
  const queue = new RoundRobinQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'a4', 'c1', 'b2']) {
    queue.push(item.charAt(0), item);
  }
  t.same([queue.size, queue.sizeOf('a'), queue.sizeOf('d')], [7, 4, 0]);
  const served: string[] = [];
  while (queue.shift((item, tenant) => served.push(item) > 0 && item.startsWith(tenant))) {}
  t.same(served, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  t.equal(queue.size, 0);
});

t.test('a tenant that cannot be served keeps its turn, and does not delay others', async (t) => {
  const queue = new RoundRobinQueue<string>();
  for (const item of ['a1', 'b1', 'b2']) {
    queue.push(item.charAt(0), item);
  }
  const served: string[] = [];
  const serve = (may: (tenant: string) => boolean) =>
    queue.shift((item, tenant) => may(tenant) && served.push(item) > 0);
  t.equal(
    serve((tenant) => tenant !== 'a'),
    true,
  );
  t.equal(
    serve((tenant) => tenant === 'c'),
    false,
  );
  t.equal(
    serve(() => true),
    true,
  );
  t.same(served, ['b1', 'a1']);
});

t.test('an item is removed once, and clearing returns the remaining items', async (t) => {
  const queue = new RoundRobinQueue<string>();
  for (const item of ['a1', 'a2', 'b1']) {
    queue.push(item.charAt(0), item);
  }
  queue.remove('a', 'a1');
  queue.remove('a', 'a1');
  queue.remove('c', 'c1');
  t.same([queue.size, queue.sizeOf('a')], [2, 1]);
  t.same(queue.clear(), ['a2', 'b1']);
  t.same([queue.size, queue.sizeOf('a'), queue.shift(() => true)], [0, 0, false]);
});

// Connections.

test('no connection is opened before the first acquire', async (t) => {
  const pool = makePool(t);
  t.same(pool.load, AT_REST);
  t.same(pool.counts, { opened: 0, lost: 0 });
  t.same(await backends(), []);
});

test('there are never more connections than the pool size, and an exclusive one has one lease at a time', async (t) => {
  const pool = makePool(t, { size: 2 });
  const leased = new Set<unknown>();
  let most = 0;
  await Promise.all(
    Array.from({ length: 50 }, async (_, turn) => {
      const lease = await pool.acquire('exclusive', `club ${turn % 3}`);
      t.notOk(leased.has(lease.connection));
      leased.add(lease.connection);
      most = Math.max(most, leased.size, (await backends()).length);
      leased.delete(lease.connection);
      pool.release(lease);
    }),
  );
  t.equal(most, 2);
  t.same(pool.load, AT_REST);
  t.same(pool.counts, { opened: 2, lost: 0 });
});

test('releasing a lease again has no effect', async (t) => {
  const pool = makePool(t, { size: 2 });
  const first = await pool.acquire('exclusive', 'north');
  pool.release(first);
  const second = await pool.acquire('exclusive', 'north');
  pool.release(first);
  t.same(pool.load, { inUse: 1, queued: 0 });
  pool.release(second);
  t.same(pool.load, AT_REST);
});

test('a destroyed connection, idle or in use, is replaced', async (t) => {
  const pool = makePool(t, { size: 1 });
  const inUse = await pool.acquire('exclusive', 'north');
  const first = await backendOf(inUse);
  const waiting = pool.acquire('exclusive', 'north');
  inUse.connection.destroy(new Error('on purpose'));
  pool.release(inUse);
  const idle = await waiting;
  const second = await backendOf(idle);
  pool.release(idle);
  await db.queryAsAdmin('select pg_terminate_backend($1)', [second]);
  t.ok(await until(() => idle.connection.isDestroyed, Boolean));
  const last = await pool.acquire('exclusive', 'north');
  const third = await backendOf(last);
  t.equal(new Set([first, second, third]).size, 3);
  t.same(pool.counts, { opened: 3, lost: 2 });
  pool.release(last);
  t.same(await until(backends, (pids) => pids.length === 1), [third]);
});

test('an old connection is replaced when it is released, never while it is leased', async (t) => {
  const pool = makePool(t, { size: 1, readsPerConnection: 2 });
  for (const kind of ['exclusive', 'shared'] as const) {
    const lease = await pool.acquire(kind, 'north');
    const old = await backendOf(lease);
    const aged = lease.connection as { openedAt: number };
    aged.openedAt -= MAX_AGE_MS + 1;
    t.equal(await backendOf(lease), old);
    pool.release(lease);
    const next = await pool.acquire(kind, 'north');
    t.not(await backendOf(next), old, kind);
    pool.release(next);
  }
  t.equal(pool.counts.lost, 0, 'closed, not lost');
});

test('a connection that has prepared 250 statements is replaced when it is released', async (t) => {
  let texts = 0;
  /** Runs statements with different texts on a connection of the pool. */
  const use = async (pool: Pool, statements: number, kind: LeaseKind = 'exclusive') => {
    const lease = await pool.acquire(kind, 'north');
    for (let number = 0; number < statements; number += 1) {
      await lease.connection.query({ strings: [`select ${++texts}`], values: [] });
    }
    for (let again = 0; again < 300; again += 1) {
      await lease.connection.query(PID);
    }
    const backend = await backendOf(lease);
    pool.release(lease);
    return backend;
  };
  const pool = makePool(t, { size: 1, readsPerConnection: 2 });
  // The check of the session and the query of the process are statements too.
  const first = await use(pool, 248);
  t.equal(await use(pool, 0), first, '250 are not too many');
  t.equal(await use(pool, 1), first);
  const second = await use(pool, 0);
  t.not(second, first, '251 are');
  t.equal(await use(pool, 300, 'shared'), second);
  t.not(await use(pool, 0, 'shared'), second, 'also for reads');
  t.equal(pool.counts.lost, 0, 'closed, not lost');

  const pooled = makePool(t, { size: 1, prepare: false });
  t.equal(await use(pooled, 300), await use(pooled, 0), 'without prepared statements none are counted');
});

test('a destroyed connection leaves its place at once, even if it is old', async (t) => {
  const pool = makePool(t, { size: 1 });
  const lease = await pool.acquire('exclusive', 'north');
  (lease.connection as { openedAt: number }).openedAt -= MAX_AGE_MS + 1;
  lease.connection.destroy(new Error('on purpose'));
  // Closing a session can take a second: the driver waits for the server to end it.
  const closed = lease.connection.close().then(() => 'closed');
  t.equal(await Promise.race([closed, nextTurn('waits')]), 'closed');
  pool.release(lease);
  const next = requestLease(pool, 'exclusive', 'north');
  t.same(pool.load, { inUse: 1, queued: 0 }, 'a new one is opened at once');
  await next.done;
  pool.release(next.lease as Lease);
  await pool.close();
});

test('an old connection keeps its place in the pool until it is closed', async (t) => {
  for (const kind of ['exclusive', 'shared'] as const) {
    await until(backends, (pids) => pids.length === 0);
    const pool = makePool(t, { size: 2, readsPerConnection: 2 });
    const [old, other] = [await pool.acquire(kind, 'north'), await pool.acquire('exclusive', 'south')];
    const { connection } = old;
    (connection as { openedAt: number }).openedAt -= MAX_AGE_MS + 1;
    let mayClose = () => {};
    const closing = new Promise<void>((resolve) => {
      mayClose = resolve;
    });
    const close = connection.close.bind(connection);
    connection.close = async () => {
      await closing;
      await close();
    };
    const next = requestLease(pool, kind, 'west');
    pool.release(old);
    t.equal(await granted([next]), 0, 'while it closes');
    t.same(pool.load, { inUse: 1, queued: 1 });
    mayClose();
    await next.done;
    t.not((next.lease as Lease).connection, connection);
    t.equal((await until(backends, (pids) => pids.length <= 2)).length, 2);
    t.same(pool.counts, { opened: 3, lost: 0 });
    for (const lease of [other, next.lease as Lease]) {
      pool.release(lease);
    }
    t.same(pool.load, AT_REST);
    await pool.close();
  }
});

test('a connection that cannot be opened, or is refused, frees its place in the pool', async (t, advance) => {
  const unreachable = new URL(db.url);
  unreachable.host = '127.0.0.1:1';
  for (const [url, expected] of [
    [unreachable.href, { name: 'ConnectionLost', cause: { code: 'ECONNREFUSED' } }],
    [db.adminUrl, { name: 'UnsafeDatabase' }],
  ] as const) {
    for (const kind of ['exclusive', 'shared'] as const) {
      const pool = makePool(t, { size: 1, url, readsPerConnection: 4 });
      for (const end of await Promise.allSettled(
        Array.from({ length: 3 }, () => pool.acquire(kind, 'north')),
      )) {
        t.match(end, { status: 'rejected', reason: expected }, 'not by the limit of the wait');
      }
      t.same(pool.load, AT_REST);
      t.same(pool.counts, { opened: 0, lost: 0 }, 'it was never open');
    }
  }

  const proxy = await startProxy(t, db.url);
  let isFrozen = false;
  proxy.onMessage = ({ from, type }) => {
    isFrozen ||= from === 'client' && type === 'P';
    return isFrozen ? 'freeze' : 'pass';
  };
  const frozen = makePool(t, { size: 1, url: proxy.url });
  const opening = frozen.acquire('exclusive', 'north').catch(message);
  await until(() => isFrozen, Boolean);
  await advance(CONNECT_TIMEOUT_MS);
  t.match(await opening, /lost/);
  t.same(frozen.load, AT_REST);
  proxy.onMessage = () => 'pass';
  const opened = await frozen.acquire('exclusive', 'north');
  t.same(frozen.counts, { opened: 1, lost: 0 });
  opened.connection.destroy(new Error('on purpose'));
  frozen.release(opened);
  await opened.connection.ready;
  t.same(frozen.counts, { opened: 1, lost: 1 });
});

// Waiting.

test('a request waits for at most five seconds, and then has no place in the queue', async (t, advance) => {
  const pool = makePool(t, { size: 1 });
  const held = await pool.acquire('exclusive', 'north');
  const waiting = (['exclusive', 'shared'] as const).map((kind) => requestLease(pool, kind, 'north'));
  await advance(MAX_WAIT_MS - 1);
  t.same(pool.load, { inUse: 1, queued: 2 });
  await advance(1);
  t.same(pool.load, { inUse: 1, queued: 0 });
  for (const { error } of waiting) {
    t.match(message(error), /in time/);
  }
  pool.release(held);
  pool.release(await pool.acquire('shared', 'north'));
  pool.release(await pool.acquire('exclusive', 'north'));
});

test('a full queue of a tenant rejects its next request at once, and no other tenant’s', async (t) => {
  const pool = makePool(t, { size: 1 });
  const held = await pool.acquire('exclusive', 'north');
  const waiting = Array.from({ length: QUEUE_PER_TENANT }, () => requestLease(pool, 'exclusive', 'north'));
  t.type(await pool.acquire('exclusive', 'north').catch((error) => error), QueueFull);
  t.type(await pool.acquire('shared', 'north').catch((error) => error), QueueFull);
  const other = requestLease(pool, 'exclusive', 'south');
  t.equal(pool.load.queued, QUEUE_PER_TENANT + 1);
  pool.release(held);
  await waiting[0]?.done;
  pool.release(waiting[0]?.lease as Lease);
  await other.done;
  t.ok(other.lease, 'after one request of the full queue');
  const closing = pool.close();
  pool.release(other.lease as Lease);
  await closing;
  await Promise.all(waiting.map(({ done }) => done));
});

test('a full shared queue accepts the first request of a tenant, and no second one', async (t) => {
  const pool = makePool(t, { size: 1 });
  const held = await pool.acquire('exclusive', 'north');
  const tenants = Array.from({ length: QUEUE_LENGTH / 1_000 }, (_, number) => `club ${number}`);
  const waiting = tenants.flatMap((tenant) =>
    Array.from({ length: 1_000 }, () => requestLease(pool, 'exclusive', tenant)),
  );
  t.equal(pool.load.queued, QUEUE_LENGTH);
  t.type(await pool.acquire('exclusive', 'club 0').catch((error) => error), QueueFull);
  const first = requestLease(pool, 'exclusive', 'south');
  t.equal(pool.load.queued, QUEUE_LENGTH + 1);
  t.type(await pool.acquire('exclusive', 'south').catch((error) => error), QueueFull);
  const closing = pool.close();
  pool.release(held);
  await closing;
  await Promise.all([first, ...waiting].map(({ done }) => done));
  t.match(message(first.error), /stopping/);
});

test('closing rejects waiting and new requests, and ends when every lease is released', async (t) => {
  const pool = makePool(t, { size: 3, readsPerConnection: 2 });
  const [first, second, read] = [
    await pool.acquire('exclusive', 'north'),
    await pool.acquire('exclusive', 'south'),
    await pool.acquire('shared', 'south'),
  ];
  const waiting = pool.acquire('exclusive', 'north').catch(message);
  let closed = false;
  const closing = pool.close().then(() => {
    closed = true;
  });
  t.match(await waiting, /stopping/);
  for (const kind of ['exclusive', 'shared'] as const) {
    t.match(await pool.acquire(kind, 'north').catch(message), /stopping/);
  }
  pool.release(first);
  t.type(await backendOf(second), 'number', 'running work continues');
  pool.release(second);
  t.equal(closed, false);
  pool.release(read);
  await closing;
  t.same(pool.load, AT_REST);
  t.same(await until(backends, (pids) => pids.length === 0), []);
});

test('closing ends when every connection is closed, even one that closes slowly', async (t) => {
  const pool = makePool(t, { size: 2 });
  const [quick, slow] = [await pool.acquire('exclusive', 'north'), await pool.acquire('exclusive', 'south')];
  let mayEnd = () => {};
  const ending = new Promise<void>((resolve) => {
    mayEnd = resolve;
  });
  const close = slow.connection.close.bind(slow.connection);
  slow.connection.close = async () => {
    await close();
    await ending;
  };
  let isClosed = false;
  const closing = pool.close().then(() => {
    isClosed = true;
  });
  pool.release(quick);
  pool.release(slow);
  await until(backends, (pids) => pids.length === 0);
  t.equal(isClosed, false);
  mayEnd();
  await closing;
  t.same(pool.load, AT_REST);
});

// Tenants.

test('a tenant can use all connections but one while no other tenant is active', async (t) => {
  for (const [size, most] of [
    [1, 1],
    [2, 1],
    [3, 2],
    [5, 4],
  ] as const) {
    const pool = makePool(t, { size });
    await warm(pool);
    const requests = Array.from({ length: size + 1 }, () => requestLease(pool, 'exclusive', 'north'));
    t.equal(await granted(requests), most, `of ${size}`);
    t.equal(pool.load.queued, size + 1 - most);
    if (size > 1) {
      const other = await pool.acquire('exclusive', 'south');
      t.ok(other, 'the last one is for other tenants');
      pool.release(other);
    }
    for (const each of requests) {
      await each.done;
      pool.release(each.lease as Lease);
    }
    t.same(pool.load, AT_REST);
  }
});

test('a tenant can use half of the connections within a second after another tenant’s request', async (t, advance) => {
  const pool = makePool(t, { size: 4 });
  await warm(pool);
  pool.release(await pool.acquire('exclusive', 'south'));
  const requests = Array.from({ length: 8 }, () => requestLease(pool, 'exclusive', 'north'));
  t.equal(await granted(requests), 2);
  const others = await Promise.all([pool.acquire('exclusive', 'south'), pool.acquire('exclusive', 'west')]);
  t.equal(others.length, 2, 'other tenants do not wait');
  for (const lease of others) {
    pool.release(lease);
  }
  t.equal(await granted(requests), 2);
  await advance(SHARING_WINDOW_MS - 1);
  t.equal(await granted(requests), 2);
  // The queue is served again, in case a limit has increased.
  await advance(RECHECK_MS + 1);
  t.equal(await granted(requests), 3, 'three at once, because the other tenants are no longer active');
  pool.release(requests[0]?.lease as Lease);
  t.equal(await granted(requests), 4);
  for (const each of requests.slice(1)) {
    await each.done;
    pool.release(each.lease as Lease);
  }
  t.same(pool.load, AT_REST);
});

test('the service’s own work has no bulkhead, and does not count as a tenant', async (t) => {
  const pool = makePool(t, { size: 3 });
  await warm(pool);
  const own = await Promise.all([1, 2, 3].map(() => pool.acquire('exclusive', NO_TENANT)));
  t.equal(connectionsOf(own), 3);
  for (const lease of own) {
    pool.release(lease);
  }
  const requests = [1, 2, 3].map(() => requestLease(pool, 'exclusive', 'north'));
  t.equal(await granted(requests), 2);
  for (const each of requests) {
    await each.done;
    pool.release(each.lease as Lease);
  }
});

test('reads outside of a single club have the limit of a tenant, and do not count as another one', async (t) => {
  const pool = makePool(t, { size: 4 });
  await warm(pool);
  pool.release(await pool.acquire('shared', 'north'));
  pool.release(await pool.acquire('shared', DIRECTORY));
  for (const tenant of ['north', DIRECTORY]) {
    const requests = Array.from({ length: 5 }, () => requestLease(pool, 'exclusive', tenant));
    t.equal(await granted(requests), 3, tenant);
    for (const each of requests) {
      await each.done;
      pool.release(each.lease as Lease);
    }
  }
  t.same(pool.load, AT_REST);
});

test('writes that wait for those of their own tenant keep no read from a free connection', async (t) => {
  const pool = makePool(t, { size: 5, readsPerConnection: 8 });
  await warm(pool);
  pool.release(await pool.acquire('shared', 'south'));
  const writes = Array.from({ length: 20 }, () => requestLease(pool, 'exclusive', 'north'));
  const reads = Array.from({ length: 40 }, (_, number) => requestLease(pool, 'shared', `club ${number}`));
  t.equal(await granted(writes), 3);
  t.equal(await granted(reads), 16, 'all of two connections');
  for (const each of [...writes, ...reads]) {
    await each.done;
    pool.release(each.lease as Lease);
  }
  t.same(pool.load, AT_REST);
});

test('a tenant with ten times the load of all others delays only itself', async (t) => {
  const pool = makePool(t, { size: 3 });
  await warm(pool);
  const done: string[] = [];
  const work = async (tenant: string) => {
    const lease = await pool.acquire('exclusive', tenant);
    await nextTurn();
    pool.release(lease);
    done.push(tenant);
  };
  const flood = Array.from({ length: 300 }, () => work('north'));
  await Promise.all(Array.from({ length: 30 }, (_, number) => work(`south ${number % 3}`)));
  const before = done.filter((tenant) => tenant === 'north').length;
  t.ok(before <= 30, `${before} of the flood were served before the 30 of the others`);
  await Promise.all(flood);
});

// Shared reads.

test('shared reads fill one connection before they use another, and use all but two and at least one', async (t) => {
  for (const [size, most] of [
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 2],
    [6, 4],
  ] as const) {
    const pool = makePool(t, { size, readsPerConnection: 4 });
    await warm(pool);
    const leases: Lease[] = [];
    for (let read = 0; read < 4 * most; read += 1) {
      leases.push(await pool.acquire('shared', `club ${read}`));
      t.equal(connectionsOf(leases), Math.ceil(leases.length / 4), `read ${read} of ${size}`);
    }
    const next = requestLease(pool, 'shared', 'east');
    t.equal(await granted([next]), 0, `reads have ${most} of ${size} connections`);
    if (size > 2) {
      const others = [await pool.acquire('exclusive', 'north'), await pool.acquire('exclusive', 'south')];
      t.equal(connectionsOf([...leases, ...others]), most + 2);
      for (const lease of others) {
        pool.release(lease);
      }
    }
    for (const lease of leases) {
      pool.release(lease);
    }
    await next.done;
    pool.release(next.lease as Lease);
    t.same(pool.load, AT_REST);
  }
});

test('with readsPerConnection 1 each connection has one read at a time', async (t) => {
  const pool = makePool(t, { size: 4, readsPerConnection: 1 });
  await warm(pool);
  const leases = [await pool.acquire('shared', 'north'), await pool.acquire('shared', 'south')];
  t.equal(connectionsOf(leases), 2);
  const next = requestLease(pool, 'shared', 'west');
  t.equal(await granted([next]), 0);
  for (const lease of leases) {
    pool.release(lease);
  }
  await next.done;
  pool.release(next.lease as Lease);
});

test('beside other tenants, the reads of one use all but one of the connections for reads', async (t) => {
  const pool = makePool(t, { size: 6, readsPerConnection: 2 });
  await warm(pool);
  pool.release(await pool.acquire('shared', 'south'));
  const north = Array.from({ length: 9 }, () => requestLease(pool, 'shared', 'north'));
  t.equal(await granted(north), 6, 'three connections of four');
  const others = [await pool.acquire('shared', 'south'), await pool.acquire('shared', 'west')];
  t.equal(connectionsOf(others), 1, 'the fourth is for other tenants');
  for (const lease of others) {
    pool.release(lease);
  }
  for (const each of north) {
    await each.done;
    pool.release(each.lease as Lease);
  }
  t.same(pool.load, AT_REST);
});

test('a slow connection gets no new reads, and counts only for the tenant of its oldest', async (t, advance) => {
  const pool = makePool(t, { size: 5, readsPerConnection: 4 });
  await warm(pool);
  const slow = await pool.acquire('shared', 'north');
  const beside = await pool.acquire('shared', 'south');
  t.equal(connectionsOf([slow, beside]), 1);
  await advance(SLOW_READ_MS + 1);
  const later = [await pool.acquire('shared', 'south'), await pool.acquire('shared', 'north')];
  t.equal(connectionsOf([slow, ...later]), 2, 'on another one');
  await advance(SLOW_READ_MS + 1);
  const third = await pool.acquire('shared', 'north');
  t.equal(connectionsOf([slow, ...later, third]), 3, 'its second one counts for south');
  for (const lease of [slow, beside, ...later, third]) {
    pool.release(lease);
  }
  t.same(pool.load, AT_REST);
});

test('a destroyed connection gets no new reads', async (t) => {
  const pool = makePool(t, { size: 4, readsPerConnection: 4 });
  await warm(pool);
  const first = await pool.acquire('shared', 'north');
  first.connection.destroy(new Error('on purpose'));
  const second = await pool.acquire('shared', 'south');
  t.notOk(second.connection.isDestroyed);
  pool.release(first);
  pool.release(second);
  t.same(pool.load, AT_REST);
});

test('reads use another connection only while no exclusive lease waits', async (t) => {
  const pool = makePool(t, { size: 4, readsPerConnection: 1 });
  await warm(pool);
  const held = await Promise.all(
    ['north', 'south', 'west'].map((tenant) => pool.acquire('exclusive', tenant)),
  );
  const read = await pool.acquire('shared', 'east');
  const order: string[] = [];
  const take = async (kind: LeaseKind, tenant: string) => {
    const lease = await pool.acquire(kind, tenant);
    order.push(kind);
    pool.release(lease);
  };
  // After the first exclusive lease it is the turn of reads, but another one waits.
  const waiting = [take('shared', 'north'), take('exclusive', 'east'), take('exclusive', 'west')];
  pool.release(held[0] as Lease);
  await Promise.all(waiting);
  t.same(order, ['exclusive', 'exclusive', 'shared']);
  for (const lease of [read, ...held.slice(1)]) {
    pool.release(lease);
  }
  t.same(pool.load, AT_REST);
});

for (const size of [1, 3]) {
  test(`a stream of reads does not starve exclusive leases, with ${size} connections`, async (t) => {
    const pool = makePool(t, { size, readsPerConnection: 8 });
    await warm(pool);
    let isOver = false;
    let reads = 0;
    const untilMore = (count: number) => {
      const enough = reads + count;
      return until(
        () => reads,
        (all) => all >= enough,
      );
    };
    const read = async (number: number) => {
      while (!isOver) {
        const lease = await pool.acquire('shared', `club ${number % 2}`);
        // Some last longer than others.
        for (let turn = 0; turn <= number % 5; turn += 1) {
          await nextTurn();
        }
        pool.release(lease);
        reads += 1;
      }
    };
    const stream = Array.from({ length: 40 }, (_, number) => read(number));
    await untilMore(100);
    let passed = 0;
    for (let write = 0; write < 20; write += 1) {
      const before = reads;
      const lease = await pool.acquire('exclusive', `club ${write % 2}`);
      passed = Math.max(passed, reads - before);
      await nextTurn();
      pool.release(lease);
    }
    await untilMore(100);
    isOver = true;
    await Promise.all(stream);
    t.ok(passed <= 80, `of 40 readers, ${passed} reads ended in the meantime`);
    t.same(pool.load, AT_REST);
  });
}

test('a stream of exclusive leases does not starve reads, with one connection', async (t) => {
  const pool = makePool(t, { size: 1, readsPerConnection: 8 });
  await warm(pool);
  let isOver = false;
  let writes = 0;
  const write = async (tenant: string) => {
    while (!isOver) {
      const lease = await pool.acquire('exclusive', tenant);
      await nextTurn();
      pool.release(lease);
      writes += 1;
    }
  };
  const stream = ['north', 'north', 'south'].map(write);
  let passed = 0;
  for (let read = 0; read < 10; read += 1) {
    const before = writes;
    pool.release(await pool.acquire('shared', 'north'));
    passed = Math.max(passed, writes - before);
  }
  isOver = true;
  await Promise.all(stream);
  t.ok(passed <= 6, `of 3 writers, ${passed} leases ended in the meantime`);
});
