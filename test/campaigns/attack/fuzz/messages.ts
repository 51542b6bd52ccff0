import fc, { type Arbitrary } from 'fast-check';

/** What is sent on one connection: a malformed or unusual message, between requests of two callers. */
export interface Message {
  /** In latin1, with names such as {own-token} for what differs in every run. */
  text: string;
  /**
   * `refused`: the end of the message is undefined, so nothing after it may be read; `cut`: it breaks off, and
   * the sender closes; `unusual`: it is valid, so the next request is answered for its own caller.
   */
  kind: 'refused' | 'cut' | 'unusual';
  /** The caller of each request that is valid, in order. */
  callers: Caller[];
  /** The offsets at which the bytes are split into chunks. */
  cuts: number[];
}

/** Two callers of different clubs. */
export type Caller = 'own' | 'other';

const headersOf = (caller: Caller) =>
  `Host: a\r\nAuthorization: Bearer {${caller}-token}\r\nX-Tenant-Id: {${caller}-club}`;
const OWN = headersOf('own');
const OTHER = headersOf('other');
/** The length of the request behind the message, which a wrong length would take as its body. */
const SIZE = '{size}';

const BODY = '{"title":"Smuggled"}';
const me = (lines: string, close = '') => `GET /api/members/me HTTP/1.1\r\n${lines}\r\n${close}\r\n`;
/** A header name and its colon, in different spellings. */
const nameOf = (name: string) =>
  fc.tuple(fc.constantFrom(name, name.toLowerCase(), name.toUpperCase()), fc.constantFrom(': ', ':', ':\t', ':   ')).map((parts) => parts.join('')); // biome-ignore format: one thing
const anyBytes = fc
  .uint8Array({ minLength: 1, maxLength: 60 })
  .map((bytes) => Buffer.from(bytes).toString('latin1'));
const control = fc.integer({ min: 0, max: 0x1f }).filter((code) => code !== 9).map((code) => String.fromCharCode(code)); // biome-ignore format: one thing
/** More than the limit of 16 KiB for all headers. */
const tooLong = fc.integer({ min: 16_500, max: 40_000 });

const length = nameOf('Content-Length');
const coding = nameOf('Transfer-Encoding');
const one = (name: Arbitrary<string>, value: Arbitrary<string>) =>
  fc.tuple(name, value).map((parts) => parts.join(''));
const sizes = fc.constantFrom('0', '5', SIZE, String(BODY.length));
const both = fc.tuple(
  one(length, sizes),
  one(coding, fc.constant('chunked')),
  fc.boolean(),
  fc.constantFrom('', 'X-A: a\r\n'),
);
/** Header lines with an ambiguous or missing body length. */
const ambiguous: Arbitrary<string> = fc.oneof(
    both.map(([first, second, isReversed, between]) => (isReversed ? `${second}\r\n${between}${first}` : `${first}\r\n${between}${second}`)),
    fc.tuple(one(length, sizes), one(length, sizes)).map((lines) => lines.join('\r\n')),
    one(length, fc.constantFrom(`0, ${SIZE}`, '+5', '-1', '0x10', '5 5', '5;', '5,', '1e1', '٥', '5\x0b', '9'.repeat(20), '9'.repeat(400), '5.0', '"5"', 'five')),
    one(coding, fc.constantFrom('chunked, identity', 'xchunked', 'chunkedx', 'gzip', 'identity', 'chunked;q=1', 'chunked\x0b', '\x0bchunked', 'chunked, gzip', '"chunked"', 'chun ked', 'gzip, chunked', 'x, chunked', ',chunked', 'chunked, chunked', '')),
    fc.tuple(fc.constantFrom('Content-Length', 'Transfer-Encoding'), fc.constantFrom(' :', '\t:', '\0:', '\x0b:', '\r:', '\n:', '(:')).map(([name, colon]) => `${name}${colon} ${name === 'Content-Length' ? SIZE : 'chunked'}`),
    one(coding, fc.constant('\r\n chunked\r\nContent-Length: 5')),
    one(length, fc.constant('5\nTransfer-Encoding: chunked')),
    control.map((code) => `X-A: a${code}b\r\nContent-Length: 0`).filter((text) => !/[\r\n]b/.test(text)),
    control.map((code) => `X${code}A: a\r\nContent-Length: 0`),
    tooLong.map((count) => `X-A: ${'a'.repeat(count)}`),
    fc.integer({ min: 0, max: 3_500 }).map((count) => `${'a:\r\n'.repeat(count)}Host: b\r\nContent-Length: 0`),
); // biome-ignore format: a case a line

/** Chunked bodies with an invalid chunk; another caller's request follows. */
const brokenChunks: Arbitrary<string> = fc.oneof(
  fc.constantFrom('zz', '-1', '+2', '0x2', '2 2', '', ' ', '٢', '2_', 'g', '2.', '2,').map((size) => `${size}\r\n{}\r\n0\r\n\r\n`),
  fc.tuple(fc.constantFrom('f', '1', '8'), fc.integer({ min: 17, max: 60 })).map(([digit, count]) => `${digit.repeat(count)}\r\n{}\r\n0\r\n\r\n`),
  fc.constantFrom('2\n{}\r\n0\r\n\r\n', '2\r\n{}\n0\r\n\r\n', '2\r\n{}0\r\n\r\n', '2\r\n{}x\r\n0\r\n\r\n', '1\r\n{}\r\n0\r\n\r\n', '2;a=\n{}\r\n0\r\n\r\n', '2;a\x00b\r\n{}\r\n0\r\n\r\n', '2\r{}\r\n0\r\n\r\n'),
  tooLong.map((count) => `2;a=${'a'.repeat(count)}\r\n{}\r\n0\r\n\r\n`),
  tooLong.map((count) => `2\r\n{}\r\n0\r\nX-A: ${'a'.repeat(count)}\r\n\r\n`),
); // biome-ignore format: a case a line

/** Invalid request lines. */
const requestLines: Arbitrary<string> = fc.oneof(
  fc.tuple(fc.constantFrom('FOO', 'get', 'G\0T', 'GET,', '', 'PRI'), fc.constantFrom('/livez', '*')).map(([method, target]) => `${method} ${target} HTTP/1.1`),
  fc.constantFrom('2.0', '1.2', '0.9', '1.10', '01.1', '1,1', '9.9', '1.1x').map((version) => `GET /livez HTTP/${version}`),
  fc.constantFrom('livez', 'a:80', '[::1]:80', '\\livez', '#', '?').map((target) => `GET ${target} HTTP/1.1`),
  fc.constantFrom('GET /a b HTTP/1.1', 'GET\t/livez\tHTTP/1.1', 'GET /livez HTTP 1.1', 'GET /livez http/1.1', 'GET /livez HTTPS/1.1', 'GET /a\0 HTTP/1.1', 'GET /\x7f\x01 HTTP/1.1'),
  tooLong.map((count) => `GET /${'a'.repeat(count)} HTTP/1.1`),
); // biome-ignore format: a case a line

/** Valid messages. An Upgrade is ignored, and its response is the last of the connection. */
const unusual: Arbitrary<string> = fc.oneof(
  fc.constantFrom('http://a', 'http://a:1', 'http://evil@a', 'HTTP://A').map((origin) => me(OWN).replace(' /', ` ${origin}/`)),
  fc.tuple(fc.constantFrom('h2c', 'websocket', 'TLS/1.0', 'h2c, websocket'), fc.constantFrom('Upgrade', 'upgrade, HTTP2-Settings')).map(([to, connection]) => me(`${OWN}\r\nConnection: ${connection}\r\nUpgrade: ${to}`)),
  fc.constantFrom('X-Tenant-Id: a', 'Authorization: Bearer a', 'Host: b', 'Expect: 200-ok', 'Trailer: X-Tenant-Id', 'Connection: X-Tenant-Id', 'TE: trailers', 'Content-Length: 0').map((line) => me(`${OWN}\r\n${line}`)),
  fc.constantFrom('2;a=b\r\n{}\r\n0\r\n\r\n', '0\r\n\r\n', '02\r\n{}\r\n0\r\nX-Tenant-Id: a\r\n\r\n', '2\r\n{}\r\n000\r\nAuthorization: Bearer a\r\n\r\n').map((body) => `${me(`${OWN}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked`)}${body}`),
  fc.constantFrom('TRACE /api/members/me', 'OPTIONS *', 'QUERY /api/members/me', 'GET /api/members/%00', 'GET //api/members/me').map((line) => `${line} HTTP/1.1\r\n${OWN}\r\n\r\n`),
); // biome-ignore format: a case a line

const smuggled = `POST /api/tasks HTTP/1.1\r\n${OTHER}\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
const post = `POST /api/tasks HTTP/1.1\r\n${OWN}\r\nContent-Type: application/json\r\n`;

/** Messages whose end is undefined. */
const refused: Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: ambiguous.map((text) => `${post}${text}\r\n\r\n0\r\n\r\n`) },
  { weight: 3, arbitrary: brokenChunks.map((text) => `${post}Transfer-Encoding: chunked\r\n\r\n${text}`) },
  { weight: 3, arbitrary: requestLines.map((line) => `${line}\r\n${OWN}\r\n\r\n`) },
  { weight: 1, arbitrary: fc.oneof(anyBytes.map((text) => `\x16\x03\x01${text}`), fc.constantFrom('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n')) },
  { weight: 1, arbitrary: fc.constantFrom('', 'Connection: keep-alive\r\n').map((line) => `${post.replace('1.1', '1.0')}${line}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`) },
  { weight: 1, arbitrary: fc.constantFrom('\n', '\r').map((end) => `${post}Content-Length: 2\r\n\r\n`.replaceAll('\r\n', end)) },
); // biome-ignore format: a case a line

const full = `${post}Content-Length: ${BODY.length + 1}\r\n\r\n${BODY}`;
const cut: Arbitrary<string> = fc.oneof(
  fc.nat(full.length).map((end) => full.slice(0, end)),
  fc.constant(`${post}Transfer-Encoding: chunked\r\n\r\n14\r\n${BODY}\r\n`),
);

/** A message, sometimes after a valid request, and with a request of another caller behind it. */
export const messages: Arbitrary<Message> = fc
  .tuple(
    fc.oneof(
      { weight: 8, arbitrary: refused.map((text) => ({ text: text + smuggled, kind: 'refused' as const, callers: [] })) },
      { weight: 1, arbitrary: cut.map((text) => ({ text, kind: 'cut' as const, callers: [] })) },
      { weight: 4, arbitrary: unusual.map((text) => ({ text: text + me(OTHER, 'Connection: close\r\n'), kind: 'unusual' as const, callers: ['own', 'other'] as const })) },
    ),
    fc.integer({ min: 0, max: 3 }).map((number) => number === 3),
    fc.array(fc.nat(600), { maxLength: 3 }),
  )
  .map(([{ text, kind, callers }, isAfterRequest, cuts]) => ({
    text: isAfterRequest ? me(OWN) + text : text,
    kind,
    callers: isAfterRequest ? ['own', ...callers] : [...callers],
    cuts: cuts.sort((one, next) => one - next),
  })); // biome-ignore format: a case a line

/** The bytes of a message, with the tokens and clubs of this run. */
export function bytesOf({ text }: Message, values: Record<Caller, { token: string; club: string }>): Buffer {
  const resolve = (unresolved: string) =>
    unresolved.replace(
      /\{(own|other)-(token|club)\}/g,
      (_name, caller, what) => values[caller as Caller][what as 'club'],
    );
  return Buffer.from(resolve(text).replaceAll(SIZE, String(resolve(smuggled).length)), 'latin1');
}
