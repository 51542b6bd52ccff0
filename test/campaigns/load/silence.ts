import { once } from 'node:events';
import { connect } from 'node:net';

const CONNECTED_AT_ONCE = 500;

/** Opens idle connections. Each promise resolves when the service closes one, with its duration in milliseconds. */
export async function connectSilently(url: string, count: number): Promise<{ closed: Promise<number> }[]> {
  const port = Number(new URL(url).port);
  const open = async () => {
    const openedAt = performance.now();
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const closed = once(socket.resume(), 'close').then(() => performance.now() - openedAt);
    await Promise.race([once(socket, 'connect'), closed]);
    return { closed };
  };
  const connections: { closed: Promise<number> }[] = [];
  while (connections.length < count) {
    const batch = Math.min(CONNECTED_AT_ONCE, count - connections.length);
    connections.push(...(await Promise.all(Array.from({ length: batch }, open))));
  }
  return connections;
}
