import { join } from 'node:path';

import { type Account, serverAccount } from './account.js';
import { findBinaries, locateNative } from './binaries.js';
import {
  ensureCluster,
  findServer,
  type Installation,
  readPassword,
  removeMisleadingPidFile,
  SUPERUSER,
  stopServer,
} from './cluster.js';
import { findHome, openDataDir } from './home.js';
import { lock } from './lock.js';
import { dropOwnership, readOwnership, takeOwnership } from './owner.js';
import { isAlive, type ProcessIdentity, waitForEnd } from './processes.js';
import { HOST, launch } from './server.js';
import { Watchdog } from './watchdog.js';

/** A running server and how to reach it. */
export interface EmbeddedPostgres {
  host: string;
  port: number;
  /** The superuser. */
  user: string;
  password: string;
  /** False when a running server was borrowed from the process that started it. */
  owned: boolean;
  /** The address of a database: as the superuser, or as the given user with the given password. */
  url(database: string, user?: string, password?: string): string;
  /** Stops the server if it is owned; otherwise, and when called again, nothing happens. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** The directory that keeps the cluster; created on first use. */
  dataDir: string;
  /** Trades durability for speed, and removes the directory when the server stops. */
  throwaway?: boolean;
  /** The directory of another PostgreSQL's programs, such as an installed one's; otherwise the embedded ones. */
  bin?: string | undefined;
  /** Further settings of the server, as on its command line. */
  settings?: Record<string, string>;
}

/**
 * A start that is bound to fail takes a minute; a watchdog left with it needs that long, and some more to
 * stop.
 */
const WATCHDOG_PATIENCE = 90_000;

/**
 * Starts the cluster kept in dataDir (created on first use) or borrows the one already running there by a
 * living owner.
 */
export async function startPostgres(options: StartOptions): Promise<EmbeddedPostgres> {
  // Both may fail, and before anything is made that would have to be removed again.
  const programs = options.bin === undefined ? { native: locateNative() } : { bin: options.bin };
  const account = await serverAccount();
  for (;;) {
    const dataDir = await openDataDir(options.dataDir, account);
    const release = await lock(dataDir);
    let ending: ProcessIdentity;
    try {
      const throwaway = options.throwaway ?? false;
      const home = await findHome(dataDir, account, throwaway);
      const { owner, watchdog } = await readOwnership(home);
      const abandoned = !(await isAlive(owner));
      if (!abandoned || !(await isAlive(watchdog))) {
        const installation = await install(programs, home, account);
        const borrowed = await borrowOrClear(installation, abandoned);
        return borrowed ?? (await own(dataDir, installation, throwaway, options.settings ?? {}));
      }
      ending = watchdog;
    } finally {
      await release();
    }
    // The last owner has just ended and its watchdog is at work, which may include removing this directory.
    if (!(await waitForEnd(ending, WATCHDOG_PATIENCE))) {
      throw new Error(`Process ${ending.pid} does not finish stopping PostgreSQL in ${dataDir}`);
    }
  }
}

async function install(
  programs: { native: string } | { bin: string },
  home: string,
  account: Account,
): Promise<Installation> {
  const bin = 'bin' in programs ? programs.bin : await findBinaries(programs.native, account, home);
  return { account, bin, home, cluster: join(home, 'cluster'), log: join(home, 'server.log') };
}

/** Borrows a server whose owner lives; one without an owner is stopped, as nobody would ever stop it. */
async function borrowOrClear(
  installation: Installation,
  abandoned: boolean,
): Promise<EmbeddedPostgres | undefined> {
  const server = await findServer(installation);
  if (server === undefined) {
    await removeMisleadingPidFile(installation);
    return undefined;
  }
  if (abandoned) {
    await stopServer(installation);
    return undefined;
  }
  return describe(server.port, await readPassword(installation.home), false, async () => {});
}

/** Starts a server that belongs to this process, with the watchdogs that outlive it. */
async function own(
  dataDir: string,
  installation: Installation,
  throwaway: boolean,
  settings: Record<string, string>,
): Promise<EmbeddedPostgres> {
  const { home } = installation;
  const sweeper = throwaway ? await Watchdog.sweeper([...new Set([dataDir, home])]) : undefined;
  try {
    await ensureCluster(installation, !throwaway);
    const announce = async (keeper: Watchdog) => takeOwnership(home, await (sweeper ?? keeper).identity());
    const { keeper, port } = await launch(installation, { settings, throwaway, sweeper, announce });
    const pid = (await findServer(installation))?.pid;
    const stop = async () => {
      // Locked, so that nobody borrows a server that is about to end.
      const release = await lock(dataDir);
      try {
        await keeper.letGo();
        // A keeper that somebody killed cannot have stopped the server.
        if (pid !== undefined && (await findServer(installation))?.pid === pid) {
          await stopServer(installation);
        }
        await dropOwnership(home);
        await sweeper?.letGo();
      } finally {
        await release();
      }
    };
    return describe(port, await readPassword(home), true, stop);
  } catch (error) {
    await dropOwnership(home);
    await sweeper?.letGo();
    throw error;
  }
}

function describe(
  port: number,
  password: string,
  owned: boolean,
  stop: () => Promise<void>,
): EmbeddedPostgres {
  let stopped: Promise<void> | undefined;
  return {
    host: HOST,
    port,
    user: SUPERUSER,
    password,
    owned,
    url(database, user, userPassword) {
      const [name, secret] = user === undefined ? [SUPERUSER, password] : [user, userPassword];
      const credentials = [name, ...(secret === undefined ? [] : [secret])].map(encodeURIComponent).join(':');
      return `postgres://${credentials}@${HOST}:${port}/${encodeURIComponent(database)}`;
    },
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}
