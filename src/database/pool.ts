import { Connection, type ConnectionOptions } from './connection.js';
import { QueueFull, Unavailable } from './errors.js';
import { RoundRobinQueue } from './round-robin-queue.js';

export interface PoolOptions extends ConnectionOptions {
  /** The maximum number of connections. */
  size: number;
  /** The maximum number of shared reads in flight on a connection; with 1 connections are not shared. */
  readsPerConnection: number;
}

/** Exclusive: a connection for one statement or transaction. Shared: one of several reads in flight on a connection. */
export type LeaseKind = 'exclusive' | 'shared';

/** The right to use a connection until it is released. */
export interface Lease {
  readonly kind: LeaseKind;
  readonly tenant: string;
  readonly connection: Connection;
  readonly since: number;
}

interface Waiter {
  resolve: (lease: Lease) => void;
  reject: (reason: Error) => void;
  timer: NodeJS.Timeout;
}

/** For requests of the service itself: they belong to no tenant and have no bulkhead limit. */
export const NO_TENANT = '';

/**
 * For reads outside of a single club: all callers share one queue and one limit. To the tenants it does not count as another one.
 */
export const DIRECTORY = 'directory';

const MAX_WAIT_MS = 5_000;
/** The maximum queue of one tenant: more than MAX_CONNECTIONS by default, because waiting costs less than immediate retries. */
const QUEUE_PER_TENANT = 5_000;
/** The maximum queue of all tenants together; a tenant with no request in the queue may always add one. */
const QUEUE_LENGTH = 10_000;
/** The limits of a tenant are those beside other tenants for this long after a request of another. */
const SHARING_WINDOW_MS = 1_000;
/** How often the queue is served while no lease is released. */
const RECHECK_MS = 100;
/** A connection whose oldest read runs longer than this is slow: it gets no further reads. */
const SLOW_READ_MS = 250;
/** The pause after a connection could not be opened, while others are in use. */
const REOPEN_PAUSE_MS = 1_000;
/** One instance: creating thousands of errors with stack traces per second is measurable. */
const queueFull = new QueueFull();

/**
 * Admission to the database: a bounded number of connections, a bounded queue with a bounded wait.
 *
 * Who waits for what:
 * - Leases of one kind are served round robin by tenant, those of one tenant in the order of arrival. A free connection goes to
 *   the two kinds in turn.
 * - Exclusive leases take any free connection. A tenant has all connections but one, or half of them while other tenants send
 *   requests too.
 * - Shared reads fill one connection before they take another. They take another only while no exclusive lease waits for a
 *   free connection (one whose tenant has all it may have waits for its own), and leave two connections. If all of theirs are
 *   slow, they take one more at once, and leave one connection.
 * - A tenant's reads use as many connections as reads may take, or one less while other tenants send requests too. A slow
 *   connection counts only for the tenant of its oldest read, for which all others on it wait.
 * - A pool of one connection alternates between reads and exclusive leases.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #idle: Connection[] = [];
  /** The leases of each connection in use, the oldest first. */
  readonly #inUse = new Map<Connection, Set<Lease>>();
  /** The connections in use with shared reads. */
  readonly #reading = new Map<Connection, Set<Lease>>();
  readonly #exclusiveByTenant = new Map<string, number>();
  readonly #queues: Record<LeaseKind, RoundRobinQueue<Waiter>> = {
    exclusive: new RoundRobinQueue(),
    shared: new RoundRobinQueue(),
  };
  /** The kind that gets the next free connection for which both wait. */
  #turn: LeaseKind = 'exclusive';
  #lastTenant: string | undefined;
  #tenantChangedAt = Number.NEGATIVE_INFINITY;
  #openFailedAt = Number.NEGATIVE_INFINITY;
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
    return { inUse: this.#inUse.size, queued: this.#queued };
  }

  /**
   * Leases a connection that is open and checked.
   *
   * @throws QueueFull; Unavailable when the wait runs out, the pool is closed or no connection can be opened;
   *   UnsafeDatabase
   */
  async acquire(kind: LeaseKind, tenant: string): Promise<Lease> {
    this.#noteArrival(tenant);
    const deadline = performance.now() + MAX_WAIT_MS;
    for (;;) {
      const lease = await this.#next(kind, tenant, deadline);
      try {
        await lease.connection.ready;
        return lease;
      } catch (error) {
        this.#openFailedAt = performance.now();
        this.release(lease);
        if (!(error instanceof Unavailable) || !this.#hasOpen) {
          throw error;
        }
      }
    }
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
      if (!connection.isDestroyed) {
        this.#keepOrClose(connection);
      }
    }
    this.#onClosed();
    this.#serveQueues();
  }

  /** Rejects new leases, waits for those in use and closes every connection. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    for (const queue of Object.values(this.#queues)) {
      for (const { reject, timer } of queue.clear()) {
        clearTimeout(timer);
        reject(stopping());
      }
    }
    for (const connection of this.#idle.splice(0)) {
      void this.#closeConnection(connection);
    }
    while (this.#inUse.size + this.#closing > 0) {
      await new Promise<void>((resolve) => {
        this.#onClosed = resolve;
      });
    }
  }

  #keepOrClose(connection: Connection): void {
    if (this.#closed !== undefined || connection.isExpired) {
      void this.#closeConnection(connection);
    } else {
      this.#idle.push(connection);
    }
  }

  async #closeConnection(connection: Connection): Promise<void> {
    this.#closing += 1;
    await connection.close();
    this.#closing -= 1;
    this.#onClosed();
    this.#serveQueues();
  }

  get #queued(): number {
    return this.#queues.exclusive.size + this.#queues.shared.size;
  }

  /** A lease at once, unless others of its kind and tenant wait; otherwise when it is its turn. */
  #next(kind: LeaseKind, tenant: string, deadline: number): Lease | Promise<Lease> {
    if (this.#closed !== undefined) {
      throw stopping();
    }
    // The limit of the waiting ones may have increased meanwhile.
    this.#serveQueues();
    const lease = this.#queues[kind].sizeOf(tenant) === 0 ? this.#tryLease(kind, tenant) : undefined;
    return lease ?? this.#wait(kind, tenant, deadline);
  }

  #wait(kind: LeaseKind, tenant: string, deadline: number): Promise<Lease> {
    const queue = this.#queues[kind];
    const own = this.#queues.exclusive.sizeOf(tenant) + this.#queues.shared.sizeOf(tenant);
    if (own >= QUEUE_PER_TENANT || (own > 0 && this.#queued >= QUEUE_LENGTH)) {
      throw queueFull;
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        queue.remove(tenant, waiter);
        reject(new Unavailable('No connection to the database became free in time.'));
      }, deadline - performance.now());
      const waiter: Waiter = { resolve, reject, timer };
      queue.push(tenant, waiter);
      this.#serveLater();
    });
  }

  /** Serves the queues again while requests wait: limits also increase without a release. */
  #serveLater(): void {
    this.#servingLater ??= setTimeout(() => {
      this.#servingLater = undefined;
      this.#serveQueues();
      if (this.#queued > 0) {
        this.#serveLater();
      }
    }, RECHECK_MS).unref();
  }

  #serveQueues(): void {
    while (this.#queued > 0 && this.#closed === undefined) {
      const other = this.#turn === 'exclusive' ? 'shared' : 'exclusive';
      if (!this.#serve(this.#turn) && !this.#serve(other)) {
        return;
      }
    }
  }

  /** Grants the next lease of this kind that can have a connection, if any. The other kind then comes first. */
  #serve(kind: LeaseKind): boolean {
    // Without room the queue is not searched.
    const isServed =
      this.#hasRoom(kind) &&
      this.#queues[kind].shift(({ resolve, timer }, tenant) => {
        const lease = this.#tryLease(kind, tenant);
        if (lease === undefined) {
          return false;
        }
        clearTimeout(timer);
        resolve(lease);
        return true;
      });
    if (isServed) {
      this.#turn = kind === 'exclusive' ? 'shared' : 'exclusive';
    }
    return isServed;
  }

  /** Whether some tenant may get a lease of this kind. */
  #hasRoom(kind: LeaseKind): boolean {
    const hasFree = this.#idle.length > 0 || this.#mayOpen;
    return (
      (hasFree && (kind === 'exclusive' || this.#readsMayTakeFree)) ||
      (kind === 'shared' && this.#accepting.some((one) => this.#isBelowLimit(one)))
    );
  }

  #tryLease(kind: LeaseKind, tenant: string): Lease | undefined {
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
    return this.#isBelowExclusiveLimit(tenant) ? this.#takeFree() : undefined;
  }

  #isBelowExclusiveLimit(tenant: string): boolean {
    const { size } = this.#options;
    const most = this.#hasOtherTenants ? Math.ceil(size / 2) : size - 1;
    const limit = tenant === NO_TENANT ? size : Math.max(1, most);
    return (this.#exclusiveByTenant.get(tenant) ?? 0) < limit;
  }

  #forRead(tenant: string): Connection | undefined {
    const { size } = this.#options;
    if (size === 1 && this.#reading.size > 0 && this.#queues.exclusive.size > 0) {
      return undefined;
    }
    const own = [...this.#reading].filter(([, leases]) => countsFor(leases, tenant));
    const limit = this.#hasOtherTenants ? Math.max(1, this.#usualReading - 1) : this.#usualReading;
    if (own.length >= limit) {
      return own.filter(acceptsReads).find((one) => this.#isBelowLimit(one))?.[0];
    }
    const accepting = this.#accepting.find((one) => this.#isBelowLimit(one));
    return accepting?.[0] ?? (this.#readsMayTakeFree ? this.#takeFree() : undefined);
  }

  /** The connections of shared reads that accept further ones. */
  get #accepting(): [Connection, Set<Lease>][] {
    return [...this.#reading].filter(acceptsReads);
  }

  #isBelowLimit([, leases]: [Connection, Set<Lease>]): boolean {
    return leases.size < this.#options.readsPerConnection;
  }

  /** The number of connections that shared reads take while one of them is not slow. */
  get #usualReading(): number {
    return Math.max(1, this.#options.size - 2);
  }

  get #readsMayTakeFree(): boolean {
    return this.#accepting.length === 0
      ? this.#reading.size < Math.max(1, this.#options.size - 1)
      : this.#reading.size < this.#usualReading &&
          !this.#queues.exclusive.hasTenant((tenant) => this.#isBelowExclusiveLimit(tenant));
  }

  /** Whether a tenant other than the last one sent a request lately. */
  get #hasOtherTenants(): boolean {
    return performance.now() - this.#tenantChangedAt < SHARING_WINDOW_MS;
  }

  /** Whether a connection is open, so that waiting for one can succeed. */
  get #hasOpen(): boolean {
    return [...this.#inUse.keys(), ...this.#idle].some(({ isOpen }) => isOpen);
  }

  get #mayOpen(): boolean {
    const isPaused = performance.now() - this.#openFailedAt < REOPEN_PAUSE_MS && this.#hasOpen;
    return this.#inUse.size + this.#closing < this.#options.size && !isPaused;
  }

  /** The connection that was released last, or a new one below the size of the pool. */
  #takeFree(): Connection | undefined {
    let connection = this.#idle.pop();
    while (connection?.isDestroyed) {
      connection = this.#idle.pop();
    }
    return connection ?? (this.#mayOpen ? this.#openConnection() : undefined);
  }

  /** Opens a connection and counts it when it is ready: one that could not be opened is neither opened nor lost. */
  #openConnection(): Connection {
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

  #noteArrival(tenant: string): void {
    if (tenant === NO_TENANT || tenant === DIRECTORY || tenant === this.#lastTenant) {
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
}

function isSlow(leases: Set<Lease>): boolean {
  const [oldest] = leases;
  return oldest !== undefined && performance.now() - oldest.since > SLOW_READ_MS;
}

/** Whether a connection of shared reads accepts further ones. */
function acceptsReads([connection, leases]: [Connection, Set<Lease>]): boolean {
  return !isSlow(leases) && !connection.isDestroyed && !connection.isExpired;
}

/** Whether a connection of shared reads counts for the tenant. */
function countsFor(leases: Set<Lease>, tenant: string): boolean {
  const [oldest] = leases;
  return isSlow(leases) ? oldest?.tenant === tenant : [...leases].some((lease) => lease.tenant === tenant);
}

function stopping(): Unavailable {
  return new Unavailable('The service is stopping.');
}
