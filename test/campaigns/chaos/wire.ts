import { Agent, request } from 'node:http';

/** An answer, or the error. */
export type Response =
  | {
      status: number;
      retryAfter: boolean;
      isReplay: boolean;
      // biome-ignore lint/suspicious/noExplicitAny: clients look into bodies of every shape
      body: any;
      text: string;
    }
  | { failure: 'broken' | 'patience ran out' };

/** Sends one request and receives its answer; never throws. */
export type Ask = (
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
) => Promise<Response>;

/** A client's keep-alive connection. */
export function openWire(url: string, patienceMs: number): { ask: Ask; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask: Ask = (method, path, headers, body) =>
    new Promise((resolve) => {
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
      const sent = request(new URL(path, url), {
        method,
        agent,
        headers: {
          ...headers,
          ...(bytes && { 'content-type': 'application/json', 'content-length': bytes.length }),
        },
      });
      let failure: 'broken' | 'patience ran out' = 'broken';
      const timer = setTimeout(() => {
        failure = 'patience ran out';
        sent.destroy();
        resolve({ failure });
      }, patienceMs);
      const fail = () => {
        clearTimeout(timer);
        resolve({ failure });
      };
      sent.on('error', fail);
      sent.on('close', fail);
      sent.on('response', (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part) => parts.push(part));
        response.on('error', fail);
        response.on('end', () => {
          if (!response.complete) {
            return fail();
          }
          clearTimeout(timer);
          const text = Buffer.concat(parts).toString();
          resolve({
            status: response.statusCode ?? 0,
            retryAfter: response.headers['retry-after'] !== undefined,
            isReplay: response.headers['idempotent-replayed'] !== undefined,
            body: text === '' ? undefined : JSON.parse(text),
            text,
          });
        });
      });
      sent.end(bytes);
    });
  return { ask, close: () => agent.destroy() };
}

/** Pseudorandom numbers by a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
