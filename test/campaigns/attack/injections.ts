import type { App } from '../../../src/app.js';
import type { FuzzRequest } from './fuzz/requests.js';
import { fillPath, operationsOf, parametersOf } from './operations.js';

/** Headers that no operation uses, and that logs and proxies often use. */
const OTHER_HEADERS = [
  'user-agent', 'referer', 'cookie', 'x-request-id', 'x-correlation-id', 'traceparent', 'x-forwarded-for', 'x-forwarded-host', 'forwarded',
  'x-real-ip', 'accept', 'accept-language', 'origin', 'if-none-match', 'range', 'x-http-method-override',
]; // biome-ignore format: a list

const OWN = { authorization: 'Bearer token-Admin', 'x-tenant-id': 'clubs-0' };

/** A text in every place of every operation's request: path, query, headers, fields and their names. */
export function injectionsOf(app: App, text: string): FuzzRequest[] {
  // A lone surrogate has no UTF-8: the bytes that it would have are sent.
  const encoded = /\p{Cs}/u.test(text) ? '%ED%A0%80' : encodeURIComponent(text);
  return operationsOf(app).flatMap(({ method, path, query, headers, fields, body }) => {
    const url = fillPath(path, (kind) => `${kind}s-0`);
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const request = (part: Partial<FuzzRequest>): FuzzRequest => ({
      method,
      url,
      ...part,
      headers: { ...OWN, ...type, ...part.headers },
      body: part.body ?? (body === undefined ? undefined : { text: JSON.stringify(body) }),
    });
    const json = (value: unknown) => request({ body: { text: JSON.stringify(value) } });
    return [
      ...parametersOf(path).map((place) =>
        request({ url: fillPath(path, (kind, name) => (name === place.name ? encoded : `${kind}s-0`)) }),
      ),
      ...Object.keys(query).map((name) => request({ url: `${url}?${name}=${encoded}` })),
      request({ url: `${url}?${encoded}=1` }),
      ...Object.keys(fields ?? {}).map((name) => json({ ...body, [name]: text })),
      ...(fields === undefined
        ? []
        : [
            json({ ...body, [text]: text }),
            json(text),
            request({ body: { text } }),
            request({ headers: { 'content-type': headerOf(text) } }),
          ]),
      ...headers.map((name) => request({ headers: { [name.toLowerCase()]: headerOf(text) } })),
      request({ headers: { authorization: headerOf(text) } }),
      request({ headers: { authorization: `Bearer ${headerOf(text)}` } }),
      request({ headers: Object.fromEntries(OTHER_HEADERS.map((name) => [name, headerOf(text)])) }),
    ];
  });
}

/** What a header can carry of a text: Node.js refuses other bytes, which raw-sockets.test.ts sends. */
const headerOf = (text: string) => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?');
