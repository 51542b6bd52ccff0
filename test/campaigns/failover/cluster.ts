import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { childOptions, give, serverAccount } from '../../../tools/postgres.js';
import { root } from '../../../tools/root.js';
import { freePort } from '../../setup/free-port.js';
import { execute } from '../../setup/pages.js';
import { startProxy, type TestProxy } from '../../setup/proxy.js';
import { HANG_MS, until } from '../../setup/wait.js';

/** The programs of docs/operate.md that are missing on this machine. */
export function missingPrograms(): string[] {
  return ['patroni', 'etcd', 'haproxy', '/usr/lib/postgresql/15/bin/postgres'].filter(
    (program) => spawnSync(program, ['--version'], { env: ENV }).error !== undefined,
  );
}

/** A machine of the cluster: Patroni, and the PostgreSQL that it starts. */
export interface Node {
  name: string;
  /** Its directory. Each of its processes runs in it, or below. */
  directory: string;
  /** The host and port of PostgreSQL. */
  address: string;
  /** The URL of Patroni's REST API. */
  api: string;
  /** Its connections to etcd. */
  etcd: TestProxy;
  start(): void;
}

/** Three nodes under Patroni with etcd and HAProxy, as docs/operate.md configures them, all on loopback. */
export interface Cluster {
  nodes: Node[];
  /** The host and port of HAProxy, which lead to the primary. */
  balancer: string;
  /** The URL of a database as the superuser, through HAProxy. */
  adminUrl(database: string): string;
  /** The members as Patroni lists them; none while it does not respond. */
  members(): Promise<ClusterMember[]>;
  /** The node that Patroni calls the primary; undefined while there is none, or more than one. */
  leader(): Promise<Node | undefined>;
  /** Waits until the leader is another node. */
  untilPromoted(old: Node): Promise<void>;
  /** Waits until a node leads, the two others follow it, and one of them is the synchronous standby. */
  untilHealed(): Promise<void>;
  /** Lets commits wait for no standby any more. */
  makeAsynchronous(): Promise<void>;
  /** The commands of docs/operate.md that install a minor release of PostgreSQL. */
  upgrade: string[];
  /** Runs one of the commands, in which `one` is the primary. */
  control(command: string, primary: Node): Promise<void>;
}

export interface ClusterMember {
  name: string;
  role: string;
  state: string;
  timeline?: number;
}

/** Debian installs HAProxy in a folder that only root's PATH has. */
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
const PAGE = 'docs/operate.md';
const NAMES = ['one', 'two', 'three'];

/** Waits for the end of the test, kills every process that runs in the directory, and removes it. */
const KEEPER = `
cat >/dev/null
while
  found=
  for entry in /proc/[0-9]*; do
    case $(readlink "$entry/cwd") in "$1"/*) found=1; kill -9 "\${entry#/proc/}" ;; esac
  done
  [ "$found" ]
do sleep 0.1; done
rm -rf "$1"
`;

/** Starts the cluster. All its processes end with the test. */
export async function startCluster(t: Test): Promise<Cluster> {
  const account = await serverAccount();
  const directory = await mkdtemp(join(tmpdir(), 'club-failover-'));
  await give(directory, account);
  const keeper = spawn('/bin/sh', ['-c', KEEPER, 'sh', directory], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const kept = new Promise((resolve) => keeper.once('exit', resolve));
  t.teardown(async () => {
    keeper.stdin.end();
    await kept;
  });
  const write = async (path: string, text: string) => {
    await mkdir(dirname(path), { recursive: true });
    await give(dirname(path), account);
    await writeFile(path, text, { mode: 0o600 });
    await give(path, account);
    return path;
  };
  /** Starts a program in the directory of a file, with its output beside it. */
  const run = (program: string, args: string[], file: string) => {
    const log = openSync(`${file}.log`, 'a');
    const options = childOptions(account);
    const child = spawn(program, args, {
      ...options,
      env: { ...options.env, PATH: ENV.PATH },
      cwd: dirname(file),
      detached: true,
      stdio: ['ignore', log, log],
    });
    child.unref();
    closeSync(log);
  };

  const store = await write(join(directory, 'etcd', 'etcd'), '');
  const [clients, peers] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  run(
    'etcd',
    [
      ...['--data-dir', join(directory, 'etcd', 'data')],
      ...['--listen-client-urls', clients, '--advertise-client-urls', clients],
      ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers],
      ...['--initial-cluster', `default=${peers}`, '--enable-v2'],
    ],
    store,
  );

  const page = await readFile(join(root, PAGE), 'utf8');
  const blockOf = (language: string, text: string) => {
    const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))];
    return blocks.map(([, block]) => block as string).find((block) => block.includes(text)) as string;
  };
  const password = randomBytes(16).toString('hex');
  const nodes: Node[] = [];
  let balancing = blockOf('haproxy', '/primary');
  for (const [index, name] of NAMES.entries()) {
    const etcd = await startProxy(t, clients, () => (chunk) => [chunk]);
    etcd.onMessage = () => {
      etcd.log.length = 0;
      return 'pass';
    };
    const [database, api] = [await freePort(), await freePort()];
    const host = `10.0.0.${index + 1}`;
    const home = join(directory, name);
    const config = blockOf('yaml', 'synchronous_mode')
      .replace('name: one', `name: ${name}`)
      // Patroni would ask etcd for its address, and go past the proxy.
      .replace(/hosts: .*/, `hosts: ${new URL(etcd.url).host}\n  use_proxies: true`)
      .replace(/data_dir: .*/, `data_dir: ${home}/data\n  pgpass: ${home}/pgpass`)
      // Processes are killed, not the machine.
      .replace(/( *)max_connections: .*/, `$&\n$1fsync: 'off'\n$1unix_socket_directories: ''`)
      .replaceAll('10.0.0.1:5432', `127.0.0.1:${database}`)
      .replaceAll('10.0.0.1:8008', `127.0.0.1:${api}`)
      .replaceAll(/10\.0\.0\.0\/\d+/g, '127.0.0.1/32')
      .replaceAll(/[A-Z]+_PASSWORD/g, password);
    const file = await write(join(home, 'patroni.yml'), config);
    balancing = balancing.replace(
      `server ${name} ${host}:5432`,
      `server ${name} 127.0.0.1:${database} port ${api}`,
    );
    nodes.push({
      name,
      directory: home,
      address: `127.0.0.1:${database}`,
      api: `http://127.0.0.1:${api}`,
      etcd,
      start: () => run('patroni', [file], file),
    });
  }
  const balancer = `127.0.0.1:${await freePort()}`;
  const balanced = await write(
    join(directory, 'haproxy', 'haproxy.cfg'),
    balancing.replace('127.0.0.1:6432', balancer),
  );
  run('haproxy', ['-db', '-f', balanced], balanced);

  const ask = (node: Node, path: string, options: RequestInit = {}) =>
    fetch(node.api + path, { signal: AbortSignal.timeout(1_000), ...options }).catch(() => undefined);
  const leader = async () => {
    const responses = await Promise.all(nodes.map(async (node) => (await ask(node, '/primary'))?.status));
    const leading = nodes.filter((_, index) => responses[index] === 200);
    return leading.length === 1 ? leading[0] : undefined;
  };
  const members = async () => {
    const node = (await leader()) ?? nodes[0];
    const response = node && (await ask(node, '/cluster'));
    const body = (await response?.json().catch(() => undefined)) as { members: ClusterMember[] } | undefined;
    return body?.members ?? [];
  };
  const wait = async (what: string, isThere: () => Promise<boolean>) => {
    if (!(await until(isThere, Boolean, { everyMs: 250, forMs: HANG_MS }))) {
      const logs = await Promise.all(
        nodes.map(async ({ directory: home, name }) => {
          const log = await readFile(join(home, 'patroni.yml.log'), 'utf8').catch(() => '');
          return `${name}:\n${log.split('\n').slice(-15).join('\n')}`;
        }),
      );
      throw new Error(`${what} in vain: ${JSON.stringify(await members())}\n${logs.join('\n')}`);
    }
  };
  let standbys = 'replica,sync_standby';
  const cluster: Cluster = {
    nodes,
    balancer,
    adminUrl: (database) => `postgres://postgres:${password}@${balancer}/${database}`,
    members,
    leader,
    untilPromoted: (old) =>
      wait('waited for a promotion', async () => {
        const others = nodes.filter((node) => node !== old);
        const responses = await Promise.all(others.map((node) => ask(node, '/primary')));
        return responses.some((response) => response?.status === 200);
      }),
    untilHealed: () =>
      wait('waited for three nodes', async () => {
        const all = await members();
        const isRunning = all.every(({ state }) => ['running', 'streaming'].includes(state));
        const timelines = new Set(all.map(({ timeline }) => timeline));
        const roles = all.map(({ role }) => role).sort();
        return isRunning && timelines.size === 1 && roles.join() === `leader,${standbys}`;
      }),
    makeAsynchronous: async () => {
      const body = JSON.stringify({ synchronous_mode: false });
      const authorization = `Basic ${Buffer.from(`patroni:${password}`).toString('base64')}`;
      const options = { method: 'PATCH', headers: { authorization }, body };
      const isAccepted = async () => (await ask(nodes[0] as Node, '/config', options))?.status === 200;
      await wait('changed the configuration', isAccepted);
      standbys = 'replica,replica';
      await cluster.untilHealed();
    },
    upgrade: blockOf('sh', 'patronictl').trimEnd().split('\n'),
    control: async (command, primary) => {
      const names = [primary, ...nodes.filter((node) => node !== primary)].map(({ name }) => name);
      const line = command
        .replace(/ (one|two|three) /, (_, name) => ` ${names[NAMES.indexOf(name)]} `)
        .replace('/etc/patroni/config.yml', join(primary.directory, 'patroni.yml'));
      await execute('sh', ['-c', line], { cwd: '/', env: ENV });
    },
  };
  nodes[0]?.start();
  await wait('waited for the first node', async () => (await leader()) === nodes[0]);
  nodes[1]?.start();
  nodes[2]?.start();
  await cluster.untilHealed();
  return cluster;
}

/** The processes of a node, with their titles. */
export function processesOf({ directory }: Node): { pid: number; title: string }[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      try {
        const place = readlinkSync(`/proc/${entry}/cwd`);
        return place === directory || place.startsWith(`${directory}/`)
          ? [{ pid: Number(entry), title: readFileSync(`/proc/${entry}/cmdline`, 'utf8') }]
          : [];
      } catch {
        // It has ended.
        return [];
      }
    });
}
