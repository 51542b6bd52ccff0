import fc, { type Arbitrary } from 'fast-check';
import { keep } from './fuzz.js';

/** The senders of a message and of the next message on the same connection. */
export interface Senders {
  /** Host, token and club of the sender of the malformed message. */
  own: string;
  /** The same of a caller of another club. */
  other: string;
}

/** A malformed or unusual message, between others on one connection. */
export interface Bytes {
  bytes: Buffer;
  /**
   * `refused`: the end of the message is undefined, so nothing after it may be read; `cut`: it breaks off, and
   * the sender closes; `strange`: it is readable, so the next request is answered for its own caller.
   */
  is: 'refused' | 'cut' | 'strange';
  /** The caller of each message, in order. */
  who: ('own' | 'other')[];
  /** The offsets at which the bytes are split into chunks. */
  cuts: number[];
}

const BODY = '{"title":"Smuggled"}';
/** Placeholders for the senders in a file. */
const [OWN, OTHER] = ['{own}', '{other}'];
const me = (lines: string, close = '') => `GET /api/members/me HTTP/1.1\r\n${lines}\r\n${close}\r\n`;
const spelt = (name: string) =>
  fc.constantFrom(name, name.toLowerCase(), name.toUpperCase()).chain((word) => fc.constantFrom(': ', ':', ':\t', ':   ').map((colon) => word + colon)); // biome-ignore format: one thing
const noise = fc
  .uint8Array({ minLength: 1, maxLength: 60 })
  .map((drawn) => Buffer.from(drawn).toString('latin1'));
const control = fc.integer({ min: 0, max: 0x1f }).filter((code) => code !== 9).map((code) => String.fromCharCode(code)); // biome-ignore format: one thing
const lengthy = fc.integer({ min: 16_500, max: 40_000 });

/** Header lines with an ambiguous or missing body length. */
function unclear(size: number): Arbitrary<string> {
  const length = spelt('Content-Length');
  const coding = spelt('Transfer-Encoding');
  const one = (name: Arbitrary<string>, value: Arbitrary<string>) =>
    fc.tuple(name, value).map((parts) => parts.join(''));
  const sizes = fc.constantFrom('0', '5', String(size), String(BODY.length));
  const both = fc.tuple(
    one(length, sizes),
    one(coding, fc.constant('chunked')),
    fc.boolean(),
    fc.constantFrom('', 'X-A: a\r\n'),
  );
  return fc.oneof(
    both.map(([first, second, isTurned, between]) => (isTurned ? `${second}\r\n${between}${first}` : `${first}\r\n${between}${second}`)),
    fc.tuple(one(length, sizes), one(length, sizes)).map((lines) => lines.join('\r\n')),
    one(length, fc.constantFrom(`0, ${size}`, '+5', '-1', '0x10', '5 5', '5;', '5,', '1e1', '٥', '5\x0b', '9'.repeat(20), '9'.repeat(400), '5.0', '"5"', 'five')),
    one(coding, fc.constantFrom('chunked, identity', 'xchunked', 'chunkedx', 'gzip', 'identity', 'chunked;q=1', 'chunked\x0b', '\x0bchunked', 'chunked, gzip', '"chunked"', 'chun ked', 'gzip, chunked', 'x, chunked', ',chunked', 'chunked, chunked', '')),
    fc.tuple(fc.constantFrom('Content-Length', 'Transfer-Encoding'), fc.constantFrom(' :', '\t:', '\0:', '\x0b:', '\r:', '\n:', '(:')).map(([name, colon]) => `${name}${colon} ${name === 'Content-Length' ? size : 'chunked'}`),
    one(coding, fc.constant('\r\n chunked\r\nContent-Length: 5')),
    one(length, fc.constant('5\nTransfer-Encoding: chunked')),
    control.map((code) => `X-A: a${code}b\r\nContent-Length: 0`).filter((text) => !/[\r\n]b/.test(text)),
    control.map((code) => `X${code}A: a\r\nContent-Length: 0`),
    lengthy.map((count) => `X-A: ${'a'.repeat(count)}`),
    fc.integer({ min: 0, max: 3_500 }).map((count) => `${'a:\r\n'.repeat(count)}Host: b\r\nContent-Length: 0`),
  ); // biome-ignore format: a case a line
}

/** Chunked bodies with an invalid chunk; another caller's request follows. */
const chunks: Arbitrary<string> = fc.oneof(
  fc.constantFrom('zz', '-1', '+2', '0x2', '2 2', '', ' ', '٢', '2_', 'g', '2.', '2,').map((size) => `${size}\r\n{}\r\n0\r\n\r\n`),
  fc.tuple(fc.constantFrom('f', '1', '8'), fc.integer({ min: 17, max: 60 })).map(([digit, count]) => `${digit.repeat(count)}\r\n{}\r\n0\r\n\r\n`),
  fc.constantFrom('2\n{}\r\n0\r\n\r\n', '2\r\n{}\n0\r\n\r\n', '2\r\n{}0\r\n\r\n', '2\r\n{}x\r\n0\r\n\r\n', '1\r\n{}\r\n0\r\n\r\n', '2;a=\n{}\r\n0\r\n\r\n', '2;a\x00b\r\n{}\r\n0\r\n\r\n', '2\r{}\r\n0\r\n\r\n'),
  lengthy.map((count) => `2;a=${'a'.repeat(count)}\r\n{}\r\n0\r\n\r\n`),
  lengthy.map((count) => `2\r\n{}\r\n0\r\nX-A: ${'a'.repeat(count)}\r\n\r\n`),
); // biome-ignore format: a case a line

/** Invalid request lines. */
const lines: Arbitrary<string> = fc.oneof(
  fc.tuple(fc.constantFrom('FOO', 'get', 'G\0T', 'GET,', '', 'PRI'), fc.constantFrom('/livez', '*')).map(([method, target]) => `${method} ${target} HTTP/1.1`),
  fc.constantFrom('2.0', '1.2', '0.9', '1.10', '01.1', '1,1', '9.9', '1.1x').map((version) => `GET /livez HTTP/${version}`),
  fc.constantFrom('livez', 'a:80', '[::1]:80', '\\livez', '#', '?').map((target) => `GET ${target} HTTP/1.1`),
  fc.constantFrom('GET /a b HTTP/1.1', 'GET\t/livez\tHTTP/1.1', 'GET /livez HTTP 1.1', 'GET /livez http/1.1', 'GET /livez HTTPS/1.1', 'GET /a\0 HTTP/1.1', 'GET /\x7f\x01 HTTP/1.1'),
  lengthy.map((count) => `GET /${'a'.repeat(count)} HTTP/1.1`),
); // biome-ignore format: a case a line

/** Readable messages. An Upgrade is ignored, and its answer is the last of the connection. */
const strange: Arbitrary<(own: string) => string> = fc.oneof(
  fc.constantFrom('http://a', 'http://a:1', 'http://evil@a', 'HTTP://A').map((origin) => (own: string) => me(own).replace(' /', ` ${origin}/`)),
  fc.tuple(fc.constantFrom('h2c', 'websocket', 'TLS/1.0', 'h2c, websocket'), fc.constantFrom('Upgrade', 'upgrade, HTTP2-Settings')).map(([to, connection]) => (own: string) => me(`${own}\r\nConnection: ${connection}\r\nUpgrade: ${to}`)),
  fc.constantFrom('X-Tenant-Id: a', 'Authorization: Bearer a', 'Host: b', 'Expect: 200-ok', 'Trailer: X-Tenant-Id', 'Connection: X-Tenant-Id', 'TE: trailers', 'Content-Length: 0').map((line) => (own: string) => me(`${own}\r\n${line}`)),
  fc.constantFrom('2;a=b\r\n{}\r\n0\r\n\r\n', '0\r\n\r\n', '02\r\n{}\r\n0\r\nX-Tenant-Id: a\r\n\r\n', '2\r\n{}\r\n000\r\nAuthorization: Bearer a\r\n\r\n').map((body) => (own: string) => `${me(`${own}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked`)}${body}`),
  fc.constantFrom('TRACE /api/members/me', 'OPTIONS *', 'QUERY /api/members/me', 'GET /api/members/%00', 'GET //api/members/me').map((line) => (own: string) => `${line} HTTP/1.1\r\n${own}\r\n\r\n`),
); // biome-ignore format: a case a line

/** Malformed messages on a connection that a caller of another club shares. */
export function messages({ own, other }: Senders): Arbitrary<Bytes> {
  const smuggled = `POST /api/tasks HTTP/1.1\r\n${other}\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
  const post = `POST /api/tasks HTTP/1.1\r\n${own}\r\nContent-Type: application/json\r\n`;
  const hello = noise.map((text) => `\x16\x03\x01${text}`);
  const whole = fc.oneof(
    { weight: 5, arbitrary: unclear(smuggled.length).map((text) => `${post}${text}\r\n\r\n0\r\n\r\n`) },
    { weight: 3, arbitrary: chunks.map((text) => `${post}Transfer-Encoding: chunked\r\n\r\n${text}`) },
    { weight: 3, arbitrary: lines.map((line) => `${line}\r\n${own}\r\n\r\n`) },
    { weight: 1, arbitrary: fc.oneof(hello, fc.constantFrom('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n')) },
    { weight: 1, arbitrary: fc.constantFrom('', 'Connection: keep-alive\r\n').map((line) => `${post.replace('1.1', '1.0')}${line}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`) },
    { weight: 1, arbitrary: fc.constantFrom('\n', '\r').map((end) => `${post}Content-Length: 2\r\n\r\n`.replaceAll('\r\n', end)) },
  ); // biome-ignore format: a case a line
  const full = `${post}Content-Length: ${BODY.length + 1}\r\n\r\n${BODY}`;
  const cut = fc.oneof(fc.nat(full.length).map((end) => full.slice(0, end)), fc.constant(`${post}Transfer-Encoding: chunked\r\n\r\n14\r\n${BODY}\r\n`)); // biome-ignore format: one thing
  const message = fc.oneof(
    { weight: 8, arbitrary: whole.map((text) => ({ text: text + smuggled, is: 'refused' as const, who: [] })) },
    { weight: 1, arbitrary: cut.map((text) => ({ text, is: 'cut' as const, who: [] })) },
    { weight: 4, arbitrary: strange.map((written) => ({ text: written(own) + me(other, 'Connection: close\r\n'), is: 'strange' as const, who: ['own', 'other'] as const })) },
  ); // biome-ignore format: a case a line
  return fc.tuple(message, fc.integer({ min: 0, max: 3 }), fc.array(fc.nat(600), { maxLength: 3 })).map(([{ text, is, who }, before, cuts]) => ({
    bytes: Buffer.from((before === 3 ? me(own) : '') + text, 'latin1'),
    is,
    who: before === 3 ? ['own', ...who] : [...who],
    cuts: cuts.sort((one, next) => one - next),
  })); // biome-ignore format: one thing
}

/** Saves a message to a file, without the tokens and clubs of this run. */
export function keepMessage(
  { own, other }: Senders,
  message: Bytes,
  found: { seed: number; path?: string; what?: string },
): string {
  const text = message.bytes.toString('latin1').replaceAll(own, OWN).replaceAll(other, OTHER);
  return keep(`raw-${found.seed}`, { ...found, message: { ...message, bytes: text } });
}

/** A saved message, with the senders of this run. */
export function keptMessage({ own, other }: Senders, kept: string): Bytes {
  const { message } = JSON.parse(kept);
  const text = message.bytes.replaceAll(OWN, own).replaceAll(OTHER, other);
  return { ...message, bytes: Buffer.from(text, 'latin1') };
}
