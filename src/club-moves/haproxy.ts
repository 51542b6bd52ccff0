/**
 * The map of clubs to backends in HAProxy: a line of a file for each club that is not in the default backend.
 */
import { access, constants, readFile, rename, stat, writeFile } from 'node:fs/promises';
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
  if (sockets.length === 0) {
    throw new ClubMoveRefused(
      'HAPROXY_MAP needs HAPROXY_SOCKETS: without them no running HAProxy is changed.',
    );
  }
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
    const answer = /not found/i.test(set) ? await send(socket, `add map ${map} ${id} ${backend}`) : set;
    if (answer.trim() !== '') {
      throw new ClubMoveRefused(`HAProxy at ${socket} refuses to change ${map}: ${answer.trim()}`);
    }
  }
  await changeLine(map, id, backend);
}

/** Replaces the line of a club in the file. @throws ClubMoveRefused when another command does */
async function changeLine(map: string, id: string, backend: string): Promise<void> {
  try {
    const { mode } = await stat(map);
    const lines = (await readFile(map, 'utf8')).split('\n');
    const others = lines.filter((line) => line !== '' && line.split(/\s/)[0] !== id);
    // Exclusively, so that no other change is lost.
    await writeFile(`${map}.new`, [...others, `${id} ${backend}`, ''].join('\n'), { flag: 'wx', mode });
    await rename(`${map}.new`, map);
  } catch (error) {
    throw new ClubMoveRefused(`The file ${map} cannot be changed: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

/** Sends a command to the runtime API, and returns the answer: nothing when it was done. */
async function send(address: string, command: string): Promise<string> {
  const [, host, port] = /^(.+):(\d+)$/.exec(address) ?? [];
  const socket = port === undefined ? net.connect(address) : net.connect(Number(port), host);
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('it does not answer')));
  socket.end(`${command}\n`);
  return text(socket).catch((error) => {
    throw new ClubMoveRefused(`HAProxy at ${address} cannot be reached: ${error.message}`);
  });
}
