import { request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { App } from '../../src/app.js';
import type { Answer } from './service.js';

/** Sends a request over a socket with these header lines: lines can be repeated, and any method is possible. */
export type Wire = (
  method: string,
  path: string,
  lines: [name: string, value: string][],
  body?: string | Buffer,
) => Promise<Answer>;

/** Makes the service listen; it stops when it is closed. */
export async function openWire(app: App): Promise<Wire> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return (method, path, lines, body) =>
    new Promise((resolve, reject) => {
      const headers = ['host', `127.0.0.1:${port}`, 'connection', 'close', ...lines.flat()];
      if (body !== undefined && !lines.some(([name]) => name === 'transfer-encoding')) {
        headers.push('content-length', String(Buffer.byteLength(body)));
      }
      const request = httpRequest({ port, method, path, headers, agent: false });
      request.on('error', reject).on('response', async (response) => {
        const text = (await response.setEncoding('utf8').toArray()).join('');
        const isJson = String(response.headers['content-type']).includes('json') && text !== '';
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: isJson ? JSON.parse(text) : undefined,
          text,
        });
      });
      request.end(body);
    });
}
