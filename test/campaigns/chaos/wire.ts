import { type Method, openConnection, type Response } from '../../setup/send.js';

/** The response, or why there is none. */
export type Outcome = Response | { failure: 'broken' | 'patience ran out' };

/** Sends one request and receives its outcome; never throws. */
export type Send = (
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
) => Promise<Outcome>;

/** A client's keep-alive connection. */
export function openWire(url: string, patienceMs: number): { send: Send; close(): void } {
  const connection = openConnection(url, { timeoutMs: patienceMs });
  const send: Send = (method, path, headers, body) =>
    connection.send(method as Method, path, { headers, body }).catch((error: Error) => ({
      failure: error.name === 'TimeoutError' ? 'patience ran out' : 'broken',
    }));
  return { send, close: connection.close };
}
