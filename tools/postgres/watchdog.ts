import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';

import type { Account } from './account.js';
import type { Installation } from './cluster.js';
import { childOptions } from './command.js';
import { identify, type ProcessIdentity } from './processes.js';

/**
 * Starts the server, waits until its owner ends, and stops it. Because one process does all three in turn, an
 * owner killed in the middle of a start leaves nothing behind either. It first waits for a line, so that the
 * owner can make it known beforehand. It stops only the server that it started, which it knows by its command
 * line, and does so without pg_ctl, which would need the cluster's directory to be still in place. Descriptor
 * 3 keeps the sweeper waiting and is not for the server to inherit.
 */
const KEEPER = `
trap '' INT HUP TERM PIPE
pg_ctl=$1 cluster=$2 log=$3 options=$4
postmaster() { head -n 1 "$cluster/postmaster.pid" 2>/dev/null; }
command_line() { tr '\\0' ' ' <"/proc/$pid/cmdline" || ps -ww -o command= -p "$pid"; }
running() { command_line 2>/dev/null | grep -qF -e "$cluster"; }
stop() {
  running && kill -s "$1" "$pid"
  tries=0
  while running && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
}
read -r go || exit 0
before=$(postmaster)
if "$pg_ctl" start -s -w -t 60 -D "$cluster" -l "$log" -o "$options" 3>&-; then
  pid=$(postmaster)
  echo started
  cat >/dev/null
  stop INT
  stop QUIT
else
  pid=$(postmaster)
  [ "$pid" = "$before" ] || stop QUIT
  exit 1
fi
`;

/** Removes directories when its pipe closes; renamed first, they are at no moment there by halves. */
const SWEEPER = `
trap '' INT HUP TERM PIPE
cat >/dev/null
for directory; do
  mv "$directory" "$directory.removed.$$" || continue
  rm -rf "$directory.removed.$$" || { sleep 1; rm -rf "$directory.removed.$$"; }
done
`;

/** A process that acts once its owner lets it go, or ends in whatever way. */
export class Watchdog {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Sets a watchdog on the throwaway directories, before anything worth removing is in them. */
  static sweeper(directories: string[]): Promise<Watchdog> {
    return Watchdog.#spawn(SWEEPER, directories, undefined, ['pipe', 'ignore', 'ignore']);
  }

  /** Sets a watchdog on the server; with a sweeper, that one acts only after this one is done. */
  static keeper(installation: Installation, options: string, sweeper?: Watchdog): Promise<Watchdog> {
    const { account, bin, cluster, log } = installation;
    const after = sweeper === undefined ? 'ignore' : sweeper.#child.stdin;
    return Watchdog.#spawn(KEEPER, [join(bin, 'pg_ctl'), cluster, log, options], account, [
      'pipe',
      'pipe',
      'pipe',
      after,
    ]);
  }

  static async #spawn(script: string, args: string[], account: Account | undefined, stdio: StdioOptions) {
    // Detached means a session of its own, out of reach of the terminal's Ctrl-C and of signals to the group.
    const child = spawn('/bin/sh', ['-c', script, 'sh', ...args], {
      ...childOptions(account),
      detached: true,
      stdio,
    });
    await once(child, 'spawn');
    // A watchdog that was itself killed closes the pipe, which must not bring down its owner.
    child.stdin?.on('error', () => {});
    const watchdog = new Watchdog(child);
    watchdog.#unref();
    return watchdog;
  }

  identity(): Promise<ProcessIdentity> {
    return identify(this.#child.pid);
  }

  /** Has the keeper start the server; resolves to undefined, or to the complaint when the start failed. */
  async startServer(): Promise<string | undefined> {
    const { stdin, stdout, stderr } = this.#child;
    const chunks: Buffer[] = [];
    stderr?.on('data', (chunk: Buffer) => chunks.push(chunk));
    this.#child.ref();
    stdin?.write('go\n');
    const started = await Promise.race([
      once(stdout as Socket, 'data').then(() => true),
      once(this.#child, 'close').then(() => false),
    ]);
    stdout?.destroy();
    stderr?.destroy();
    this.#unref();
    return started ? undefined : Buffer.concat(chunks).toString('utf8').trim();
  }

  /** Closes the pipe and waits until the watchdog has done its work. */
  async letGo(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exit = once(this.#child, 'exit');
      this.#child.ref();
      this.#child.stdin?.destroy();
      await exit;
    }
  }

  /** Neither the process nor its pipe may keep the owner from ending. */
  #unref(): void {
    this.#child.unref();
    (this.#child.stdin as Socket).unref();
  }
}
