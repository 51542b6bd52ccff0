/** All ways to send a request to the service: injected, over a socket with header lines, or as bytes. */
import { once } from 'node:events';
import { Agent, type ClientRequest, request as httpRequest, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import type { App } from '../../src/app.js';
import { withClient } from '../../src/deploy/client.js';
import type { TestDatabase } from './database.js';
import { HANG_MS, until, untilWaitingForLocks } from './wait.js';

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

export interface SendOptions {
  headers?: Record<string, string | string[]>;
  /** Sent as JSON, with its Content-Type; a string is sent unchanged. */
  body?: unknown;
}

export interface Response {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  /** The parsed body; undefined when there is none, or it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
  text: string;
}

export type Send = (method: Method, path: string, options?: SendOptions) => Promise<Response>;

/** Sends a request over a new connection with these header lines: lines can be repeated, and any method is possible. */
export type SendLines = (
  method: string,
  path: string,
  lines: [name: string, value: string][],
  body?: string | Buffer,
) => Promise<Response>;

/**
 * Sends bytes, or chunks as they are produced, on a new connection, which is closed after this many responses: 0
 * closes it at once, with Infinity the service closes it. Resolves when it is closed, with all that was received as text.
 */
export type SendBytes = (
  bytes: string | Buffer | AsyncIterable<string | Buffer>,
  count: number,
) => Promise<{ responses: Response[]; text: string }>;

/** A caller with a role in a club: every request has their token and the club. */
export interface Person {
  get: (path: string, headers?: Record<string, string>) => Promise<Response>;
  delete: (path: string, headers?: Record<string, string>) => Promise<Response>;
  post: SendBody;
  put: SendBody;
  patch: SendBody;
  /** The id of their row in app.members. */
  memberId(): Promise<string>;
}

type SendBody = (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Response>;

/** Makes the service listen, unless it does; returns its origin. */
export async function listen(app: App): Promise<string> {
  if (!app.server.listening) {
    await app.listen({ host: '127.0.0.1', port: 0 });
  }
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

/** Starts a server in place of another service; returns its origin. It ends with the test. */
export async function serve(t: Test, server: Server): Promise<string> {
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The response with its body parsed if it is JSON. */
export function responseOf(status: number, headers: Response['headers'], text: string): Response {
  const isJson = String(headers['content-type'] ?? '').includes('json') && text !== '';
  return { status, headers, body: isJson ? JSON.parse(text) : undefined, text };
}

/** A response that a request is refused with, for `t.match`. */
export const refused = (status: number, code: string, members: object = {}) => ({
  status,
  body: { code, ...members },
});

/** Sends requests to the service without a socket. */
export function sendTo(app: App): Send {
  return async (method, path, options) => {
    const { headers, content } = messageOf(options);
    const response = await app.inject({
      method,
      url: path,
      headers,
      ...(content === undefined ? {} : { payload: content }),
    });
    return responseOf(response.statusCode, response.headers, response.body);
  };
}

function messageOf({ headers = {}, body }: SendOptions = {}) {
  return body === undefined
    ? { headers, content: undefined }
    : {
        headers: { 'content-type': 'application/json', ...headers },
        content: typeof body === 'string' ? body : JSON.stringify(body),
      };
}

/** The caller with this Authorization header in a club. */
export function personOf(send: Send, authorization: string, clubId: string): Person {
  const call = (method: Method, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    send(method, path, { body, headers: { authorization, 'x-tenant-id': clubId, ...headers } });
  return {
    get: (path, headers) => call('GET', path, undefined, headers),
    delete: (path, headers) => call('DELETE', path, undefined, headers),
    post: (path, body, headers) => call('POST', path, body, headers),
    put: (path, body, headers) => call('PUT', path, body, headers),
    patch: (path, body, headers) => call('PATCH', path, body, headers),
    memberId: async () => (await sendUnderLoad(() => call('GET', '/api/members/me'))).body.id,
  };
}

/** A client's connection, which is kept alive unless the options say otherwise. */
export interface Connection {
  /**
   * Sends a request after the response to the one before.
   *
   * @throws Error of the connection; a TimeoutError when there is no response in time
   */
  send: Send;
  close(): void;
}

/** Connects to a service at an origin, such as one in another process. */
export function openConnection(
  origin: string,
  { keepAlive = true, timeoutMs = HANG_MS }: { keepAlive?: boolean; timeoutMs?: number } = {},
): Connection {
  const { hostname: host, port } = new URL(origin);
  const agent = new Agent({ keepAlive, maxSockets: 1 });
  return {
    send: (method, path, options) => {
      const { headers, content } = messageOf(options);
      const request = httpRequest({ host, port, agent, method, path, headers });
      return receive(request, content, timeoutMs);
    },
    close: () => agent.destroy(),
  };
}

/** Ends the request with this body and receives the response. */
function receive(
  request: ClientRequest,
  body: string | Buffer | undefined,
  timeoutMs: number,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const abort = () => request.destroy(signal.reason);
    signal.addEventListener('abort', abort);
    request.on('close', () => signal.removeEventListener('abort', abort));
    const fail = (error: unknown) => reject(signal.aborted ? signal.reason : error);
    request.on('error', fail).on('response', async (response) => {
      try {
        const text = (await response.setEncoding('utf8').toArray()).join('');
        resolve(responseOf(response.statusCode ?? 0, response.headers, text));
      } catch (error) {
        fail(error);
      }
    });
    request.end(body);
  });
}

/** Makes the service listen, and sends header lines to it. */
export async function sendLinesTo(app: App): Promise<SendLines> {
  const { host, port } = new URL(await listen(app));
  return (method, path, lines, body) => {
    const headers = ['host', host, 'connection', 'close', ...lines.flat()];
    if (body !== undefined && !lines.some(([name]) => name === 'transfer-encoding')) {
      headers.push('content-length', String(Buffer.byteLength(body)));
    }
    const request = httpRequest({ port, method, path, headers, agent: false });
    return receive(request, body, HANG_MS);
  };
}

/** Makes the service listen, and sends bytes to it. */
export async function sendBytesTo(app: App): Promise<SendBytes> {
  const { port } = new URL(await listen(app));
  return (bytes, count) =>
    new Promise((resolve, reject) => {
      const parts: Buffer[] = [];
      const socket = connect(Number(port), '127.0.0.1', async () => {
        for await (const part of typeof bytes === 'string' || Buffer.isBuffer(bytes) ? [bytes] : bytes) {
          if (!socket.writable) {
            return;
          }
          socket.write(part);
        }
        if (count === 0) {
          socket.end();
        }
      });
      socket.setTimeout(HANG_MS, () => socket.destroy(new Error('The connection hangs.')));
      let failure: Error | undefined;
      socket.on('data', (part) => {
        parts.push(part);
        if (readResponses(Buffer.concat(parts)).length >= count) {
          socket.end();
        }
      });
      socket.on('error', (error: Error & { code?: string }) => {
        // A service that closes while data is sent resets the connection.
        failure = ['ECONNRESET', 'EPIPE'].includes(error.code ?? '') ? undefined : error;
      });
      socket.on('close', () => {
        const received = Buffer.concat(parts);
        return failure
          ? reject(failure)
          : resolve({ responses: readResponses(received), text: received.toString('latin1') });
      });
    });
}

/** The responses in these bytes. The body of an incomplete or malformed one is undefined. */
function readResponses(received: Buffer): Response[] {
  const responses: Response[] = [];
  for (let rest = received; ; ) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) {
      return responses;
    }
    const [line = '', ...lines] = rest.toString('latin1', 0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((header) => [
        header.slice(0, header.indexOf(':')).toLowerCase(),
        header.slice(header.indexOf(':') + 1).trim(),
      ]),
    );
    const start = end + 4;
    const next = start + Number(headers['content-length'] ?? 0);
    const [status, text] = [Number(line.split(' ')[1]), rest.toString('utf8', start, next)];
    try {
      responses.push(responseOf(status, headers, text));
    } catch {
      responses.push({ status, headers, body: undefined, text });
    }
    rest = rest.subarray(next);
  }
}

/** Less than the first limit for a request that waits for the database: a connection must open within two seconds. */
const SHORTEST_LIMIT_MS = 1_900;
const MOST_ATTEMPTS = 20;

/**
 * Sends one of many concurrent requests. On a slow machine it can wait for longer than its limit: then it is a 503 and is
 * sent again, as a client does. A 503 before any limit has passed is the response.
 */
export async function sendUnderLoad<Sent extends { status: number }>(
  send: () => Promise<Sent>,
): Promise<Sent> {
  for (let attempt = 1; ; attempt += 1) {
    const begun = performance.now();
    const response = await send();
    const isEarly = performance.now() - begun < SHORTEST_LIMIT_MS;
    if (response.status !== 503 || isEarly || attempt === MOST_ATTEMPTS) {
      return response;
    }
    await sleep(100);
  }
}

/**
 * Sends a request that changes a task and waits for a lock, and closes its connection before there is a response. Then the
 * lock is released, and the service completes the request.
 *
 * @param app a service that has no other connection
 */
export async function sendAndHangUp(
  db: TestDatabase,
  app: App,
  { body, ...options }: { path: string; method: string; headers: Record<string, string>; body?: string },
): Promise<void> {
  const { port } = new URL(await listen(app));
  await withClient(db.adminUrl, async (client) => {
    await client.query('begin');
    await client.query('select from app.tasks for update');
    const sent = httpRequest({ port, agent: false, ...options }).on('error', () => {});
    const ended = new Promise((resolve) => sent.once('close', resolve));
    sent.end(body);
    await untilWaitingForLocks(db, 1, ended);
    sent.destroy();
    await until(promisify(app.server.getConnections.bind(app.server)), (count) => count === 0);
    await client.query('rollback');
  });
}
