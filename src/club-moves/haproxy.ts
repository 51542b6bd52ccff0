/**
 * The map of clubs to backends in HAProxy: a line of a file for each club that is not in the default backend.
 */
import { access, constants, open, readFile, rename, stat, unlink } from 'node:fs/promises';
import net from 'node:net';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { ClubMoveRefused } from './errors.js';

const TIMEOUT_MS = 5_000;

export interface Haproxy {
  /** The map file, by the name that the configuration of HAProxy has. */
  map: string;
  /** The addresses of the runtime API of each HAProxy: a path or host:port. */
  sockets: string[];
}

/**
 * Checks whether a club could be routed to a backend; changes nothing.
 *
 * @throws ClubMoveRefused when a HAProxy does not have the map or the backend, or the file cannot be changed
 */
export async function checkRouting({ map, sockets }: Haproxy, id: string, backend: string): Promise<void> {
  for (const socket of sockets) {
    const found = await send(socket, `get map ${map} ${id}`);
    if (!found.includes('found=')) {
      throw new ClubMoveRefused(`HAProxy at ${socket} does not have the map ${map}: ${found.trim()}`);
    }
    const backends = (await send(socket, 'show backend')).split('\n');
    if (!backends.includes(backend)) {
      throw new ClubMoveRefused(`HAProxy at ${socket} has no backend ${backend}.`);
    }
  }
  try {
    await access(map, constants.R_OK);
    await access(dirname(map), constants.W_OK);
  } catch (error) {
    throw new ClubMoveRefused(`The file ${map} cannot be changed: ${(error as Error).message}.`, {
      cause: error,
    });
  }
  await access(`${map}.new`).then(
    () => {
      throw new ClubMoveRefused(
        `The file ${map}.new exists: another command changes the map, or was killed. Delete it if none runs.`,
      );
    },
    () => {},
  );
}

/**
 * Routes a club to a backend: in each running HAProxy, then in the file, which HAProxy reads at its next start.
 *
 * @throws ClubMoveRefused when one of them cannot be changed; those before are changed
 */
export async function routeClub({ map, sockets }: Haproxy, id: string, backend: string): Promise<void> {
  for (const socket of sockets) {
    const set = await send(socket, `set map ${map} ${id} ${backend}`);
    const response = /not found/i.test(set) ? await send(socket, `add map ${map} ${id} ${backend}`) : set;
    if (response.trim() !== '') {
      throw new ClubMoveRefused(`HAProxy at ${socket} refuses to change ${map}: ${response.trim()}`);
    }
  }
  await changeLine(map, id, backend).catch((error) => {
    throw new ClubMoveRefused(`The file ${map} cannot be changed: ${error.message}.`, { cause: error });
  });
}

/** Replaces the line of a club in the file. @throws Error when another command does */
async function changeLine(map: string, id: string, backend: string): Promise<void> {
  const changed = `${map}.new`;
  const { mode } = await stat(map);
  // Before the map is read: one command at a time creates it, so none overwrites the line of another one.
  const file = await open(changed, 'wx', mode);
  try {
    const lines = (await readFile(map, 'utf8')).split('\n');
    const others = lines.filter((line) => line !== '' && line.split(/\s/)[0] !== id);
    await file.writeFile([...others, `${id} ${backend}`, ''].join('\n'));
    await file.sync();
    await rename(changed, map);
  } catch (error) {
    await unlink(changed);
    throw error;
  } finally {
    await file.close();
  }
}

/** Sends a command to the runtime API; returns its response, which is empty after a change. */
async function send(address: string, command: string): Promise<string> {
  const [, host, port] = /^(.+):(\d+)$/.exec(address) ?? [];
  const socket = port === undefined ? net.connect(address) : net.connect(Number(port), host);
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('it does not answer')));
  socket.end(`${command}\n`);
  return text(socket).catch((error) => {
    throw new ClubMoveRefused(`HAProxy at ${address} cannot be reached: ${error.message}`);
  });
}
