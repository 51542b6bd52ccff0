import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port that is free now, and outside of the ephemeral range, so that no outgoing connection takes it meanwhile. */
export async function freePort(): Promise<number> {
  const port = 20_000 + randomInt(10_000);
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return freePort();
  }
  server.close();
  await once(server, 'close');
  return port;
}
