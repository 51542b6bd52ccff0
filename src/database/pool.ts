import { Connection, type ConnectionOptions } from './connection.js';
import { QUEUE_FULL, Unavailable } from './errors.js';
import { RoundRobinQueue } from './round-robin-queue.js';

export interface PoolOptions extends ConnectionOptions {
  /** The maximum number of connections. */
  size: number;
  /** The maximum number of shared reads in flight on a connection; with 1 connections are not shared. */
  readsPerConnection: number;
}

/** Exclusive: a connection for one transaction. Shared: one of several reads in flight on a connection. */
export type LeaseKind = 'exclusive' | 'shared';

/** The right to use a connection until it is released. */
export interface Lease {
  readonly kind: LeaseKind;
  readonly tenant: string;
  readonly connection: Connection;
  readonly since: number;
}

interface Waiter {
  kind: LeaseKind;
  resolve: (lease: Lease) => void;
  reject: (reason: Error) => void;
  timer: NodeJS.Timeout;
}

/** For requests of the service itself: they belong to no tenant and have no bulkhead limit. */
export const NO_TENANT = '';

const MAX_WAIT_MS = 5_000;
/** The maximum queue of one tenant: the default of MAX_CONNECTIONS, because waiting costs less than immediate retries. */
const QUEUE_PER_TENANT = 5_000;
/** The maximum queue of all tenants together; a tenant with no request in the queue may always add one. */
const QUEUE_LENGTH = 10_000;
/** A tenant shares the pool for this long after a request of another tenant. */
const SHARING_WINDOW_MS = 1_000;
/** How often the queue is served while no lease is released. */
const RECHECK_MS = 100;
/** A connection whose oldest read runs longer than this gets no further reads. */
const SLOW_READ_MS = 250;
/** The number of connections that shared reads leave free for exclusive leases. In a pool of one or two they use one. */
const KEPT_FROM_READS = 2;

/**
 * Admission to the database: a bounded number of connections, a bounded queue with a bounded wait.
 *
 * - The queue is served round robin by tenant. Each tenant has a bulkhead limit: all connections but one, or half of them
 *   while other tenants send requests too.
 * - An exclusive lease takes any free connection. Shared reads fill one connection before they take another. They use all
 *   connections but `KEPT_FROM_READS`, or one if that leaves none. While an exclusive lease waits, also one that its own bulkhead
 *   limit holds back, they take another connection only if none of theirs accepts further reads.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #idle: Connection[] = [];
  /** The leases of each connection in use, the oldest first. */
  readonly #inUse = new Map<Connection, Set<Lease>>();
  /** The connections in use with shared reads. */
  readonly #reading = new Map<Connection, Set<Lease>>();
  readonly #exclusiveByTenant = new Map<string, number>();
  readonly #queue = new RoundRobinQueue<Waiter>();
  #waitingExclusive = 0;
  #lastTenant: string | undefined;
  #tenantChangedAt = Number.NEGATIVE_INFINITY;
  #closed: Promise<void> | undefined;
  /** The number of released connections that are being closed; they have their place in the pool until then. */
  #closing = 0;
  #onClosed = () => {};
  #servingLater: NodeJS.Timeout | undefined;
  /** Connections that were opened, and those of them that were destroyed, since the start. */
  readonly counts = { opened: 0, lost: 0 };

  /** Opens no connection; each is opened when it is first needed. */
  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#options.size;
  }

  /** Connections in use and requests in the queue. */
  get load(): { inUse: number; queued: number } {
    return { inUse: this.#inUse.size, queued: this.#queue.size };
  }

  /**
   * Leases a connection that is open and checked.
   *
   * @throws QUEUE_FULL; Unavailable when the wait runs out, the pool is closed or no connection can be opened;
   *   UnsafeDatabase
   */
  async acquire(kind: LeaseKind, tenant: string): Promise<Lease> {
    this.#noteArrival(tenant);
    // Those who wait come first: their limit may have risen.
    this.#serveQueue();
    const lease = this.#tryLease(kind, tenant) ?? (await this.#wait(kind, tenant));
    try {
      await lease.connection.ready;
    } catch (error) {
      this.release(lease);
      throw error;
    }
    return lease;
  }

  /** Releases a lease; a destroyed connection is dropped, an expired one closed. */
  release(lease: Lease): void {
    const { connection, kind, tenant } = lease;
    const leases = this.#inUse.get(connection);
    if (!leases?.delete(lease)) {
      return;
    }
    if (kind === 'exclusive') {
      this.#countExclusive(tenant, -1);
    }
    if (leases.size === 0) {
      this.#inUse.delete(connection);
      this.#reading.delete(connection);
      if (this.#closed !== undefined || connection.isExpired) {
        this.#closing += 1;
        void connection.close().then(() => {
          this.#closing -= 1;
          this.#onClosed();
          this.#serveQueue();
        });
      } else if (!connection.isDestroyed) {
        this.#idle.push(connection);
      }
    }
    this.#serveQueue();
  }

  /** Rejects new leases, waits for those in use and closes every connection. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    for (const { reject, timer } of this.#queue.clear()) {
      clearTimeout(timer);
      reject(stopping());
    }
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close()));
    while (this.#inUse.size + this.#closing > 0) {
      await new Promise<void>((resolve) => {
        this.#onClosed = resolve;
      });
    }
  }

  #wait(kind: LeaseKind, tenant: string): Promise<Lease> {
    const own = this.#queue.sizeOf(tenant);
    if (own >= QUEUE_PER_TENANT || (own > 0 && this.#queue.size >= QUEUE_LENGTH)) {
      throw QUEUE_FULL;
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#queue.remove(tenant, waiter);
        this.#countWaiting(kind, -1);
        reject(new Unavailable('No connection to the database became free in time.'));
      }, MAX_WAIT_MS);
      const waiter: Waiter = { kind, resolve, reject, timer };
      this.#queue.push(tenant, waiter);
      this.#countWaiting(kind, 1);
      this.#serveLater();
    });
  }

  /** Serves the queue again while somebody waits: limits also rise without a release, when the sharing window ends. */
  #serveLater(): void {
    this.#servingLater ??= setTimeout(() => {
      this.#servingLater = undefined;
      this.#serveQueue();
      if (this.#queue.size > 0) {
        this.#serveLater();
      }
    }, RECHECK_MS).unref();
  }

  #serveQueue(): void {
    const take = ({ kind, resolve, timer }: Waiter, tenant: string) => {
      const lease = this.#tryLease(kind, tenant);
      if (lease === undefined) {
        return false;
      }
      this.#countWaiting(kind, -1);
      clearTimeout(timer);
      resolve(lease);
      return true;
    };
    while (this.#closed === undefined && this.#hasRoom() && this.#queue.shift(take)) {}
  }

  /** Whether a waiter may get a connection. Without room the queue is not searched. */
  #hasRoom(): boolean {
    const isFree = this.#idle.length > 0 || this.#inUse.size + this.#closing < this.#options.size;
    if (isFree && this.#waitingExclusive > 0) {
      return true;
    }
    const now = performance.now();
    return (
      this.#queue.size > this.#waitingExclusive &&
      ((isFree && this.#reading.size < this.#mostReading) ||
        [...this.#reading].some(
          ([connection, leases]) =>
            leases.size < this.#options.readsPerConnection && isOpen(connection, leases, now),
        ))
    );
  }

  #tryLease(kind: LeaseKind, tenant: string): Lease | undefined {
    if (this.#closed !== undefined) {
      throw stopping();
    }
    const connection = kind === 'shared' ? this.#forRead(tenant) : this.#forExclusive(tenant);
    if (connection === undefined) {
      return undefined;
    }
    const lease: Lease = { kind, tenant, connection, since: performance.now() };
    const leases = this.#inUse.get(connection) ?? new Set();
    leases.add(lease);
    this.#inUse.set(connection, leases);
    if (kind === 'shared') {
      this.#reading.set(connection, leases);
    } else {
      this.#countExclusive(tenant, 1);
    }
    return lease;
  }

  #forExclusive(tenant: string): Connection | undefined {
    const inUse = this.#exclusiveByTenant.get(tenant) ?? 0;
    return inUse < this.#bulkheadLimit(tenant) ? this.#takeFree() : undefined;
  }

  /** The maximum number of connections with shared reads. */
  get #mostReading(): number {
    return Math.max(1, this.#options.size - KEPT_FROM_READS);
  }

  /** A connection of shared reads with room for one more, or a free connection if reads may take another. */
  #forRead(tenant: string): Connection | undefined {
    const { size, readsPerConnection } = this.#options;
    const mostReading = this.#mostReading;
    // Only with a pool of one connection: its reads end before a waiting exclusive lease starts.
    if (this.#reading.size >= size && this.#waitingExclusive > 0) {
      return undefined;
    }
    const now = performance.now();
    const reading = [...this.#reading];
    const open = reading.filter(([connection, leases]) => isOpen(connection, leases, now));
    const tenants = open.filter(([, leases]) => has(leases, tenant));
    // The oldest read delays all others of its connection, so a connection that is not open counts for its tenant.
    const notOpen = reading.filter((one) => !open.includes(one) && oldestOf(one[1])?.tenant === tenant);
    const hasRoom = ([, leases]: [Connection, Set<Lease>]) => leases.size < readsPerConnection;
    const mayTakeAnother = tenants.length + notOpen.length < Math.max(1, mostReading - 1);
    const room = (mayTakeAnother ? open : tenants).find(hasRoom);
    if (room !== undefined) {
      return room[0];
    }
    const mayGrow = this.#reading.size < mostReading && (open.length === 0 || this.#waitingExclusive === 0);
    return mayGrow && mayTakeAnother ? this.#takeFree() : undefined;
  }

  /** The connection that was released last, or a new one below the size of the pool. */
  #takeFree(): Connection | undefined {
    let connection = this.#idle.pop();
    while (connection?.isDestroyed) {
      connection = this.#idle.pop();
    }
    if (connection === undefined && this.#inUse.size + this.#closing < this.#options.size) {
      connection = this.#open();
    }
    return connection;
  }

  /** Opens a connection and counts it when it is ready: one that could not be opened is neither opened nor lost. */
  #open(): Connection {
    const count = (what: 'opened' | 'lost') => {
      const add = () => {
        this.counts[what] += 1;
      };
      connection.ready.then(add, () => {});
    };
    const connection = new Connection(this.#options, () => count('lost'));
    count('opened');
    return connection;
  }

  #bulkheadLimit(tenant: string): number {
    const { size } = this.#options;
    if (tenant === NO_TENANT) {
      return size;
    }
    const isShared = performance.now() - this.#tenantChangedAt < SHARING_WINDOW_MS;
    return Math.max(1, isShared ? Math.ceil(size / 2) : size - 1);
  }

  #noteArrival(tenant: string): void {
    if (tenant === NO_TENANT || tenant === this.#lastTenant) {
      return;
    }
    if (this.#lastTenant !== undefined) {
      this.#tenantChangedAt = performance.now();
    }
    this.#lastTenant = tenant;
  }

  #countExclusive(tenant: string, change: number): void {
    const count = (this.#exclusiveByTenant.get(tenant) ?? 0) + change;
    if (count > 0) {
      this.#exclusiveByTenant.set(tenant, count);
    } else {
      this.#exclusiveByTenant.delete(tenant);
    }
  }

  #countWaiting(kind: LeaseKind, change: number): void {
    if (kind === 'exclusive') {
      this.#waitingExclusive += change;
    }
  }
}

/** Whether a connection accepts further reads. */
function isOpen(connection: Connection, leases: Set<Lease>, now: number): boolean {
  const oldest = oldestOf(leases);
  const isSlow = oldest !== undefined && now - oldest.since > SLOW_READ_MS;
  return !isSlow && !connection.isDestroyed && !connection.isExpired;
}

function oldestOf(leases: Set<Lease>): Lease | undefined {
  const [oldest] = leases;
  return oldest;
}

function has(leases: Set<Lease>, tenant: string): boolean {
  return [...leases].some((lease) => lease.tenant === tenant);
}

function stopping(): Unavailable {
  return new Unavailable('The service is stopping.');
}
