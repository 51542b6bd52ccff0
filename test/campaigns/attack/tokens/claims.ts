import { AUDIENCE, encode } from '../../../setup/issuer.js';
import type { Attempt, Target } from './target.js';

/** A value of every JSON type, and some that resemble another type. */
export const ANYTHING: unknown[] = [
  null, true, false, 0, 1, -1, 5, 1.5, -0.5, 1e308, -1e308, '', ' ', '0', '1', '-1', '1e99', 'NaN', 'Infinity', 'null',
  'true', 'undefined', '[object Object]', 'anna', '\0', '__proto__', 'constructor', 'toString', [], [[]], [null], [0],
  [5], [''], ['anna'], [[], {}], {}, { 0: 'anna' }, { length: 1 }, { toString: 'anna' }, { valueOf: 5 }, { $gt: '' },
]; // biome-ignore format: families side by side

const REQUIRED = ['iss', 'aud', 'exp', 'sub'] as const;
/** Property names that every JavaScript object inherits. */
export const INHERITED = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'];

const isNumber = (value: unknown) => typeof value === 'number';
const isSubject = (value: unknown) => typeof value === 'string' && value !== '' && value !== '\0';

/** Claims of a wrong type, a wrong value or none, each signed by the issuer. */
export function claims({ provider, admin }: Target): Attempt[] {
  const now = Math.floor(Date.now() / 1000);
  const { url } = provider;
  const port = new URL(url).port;
  const wrong: Record<string, unknown[]> = {
    iss: [
      undefined, ...ANYTHING, [url], [url, 'x'], { 0: url }, `${url}/`, `${url}//`, ` ${url}`, `${url} `, `${url}\0`,
      `${url}\n`, `${url}#`, `${url}?`, `${url}/.`, url.toUpperCase(), url.slice(0, -1), `${url}0`, url.slice(7),
      `http://localhost:${port}`, `https://127.0.0.1:${port}`, `http://a@127.0.0.1:${port}`, `${url}.evil.example`,
      `http://127.0.0.1:0${port}`, `http://127.1:${port}`, `http://0x7f.0.0.1:${port}`, encodeURIComponent(url),
    ],
    aud: [
      undefined, ...ANYTHING, AUDIENCE.toUpperCase(), ` ${AUDIENCE}`, `${AUDIENCE} `, `${AUDIENCE}\0`, `${AUDIENCE}2`,
      AUDIENCE.slice(1), AUDIENCE.slice(0, -1), `${AUDIENCE},other`, `${AUDIENCE} other`, [AUDIENCE, 5], [[AUDIENCE]],
      [AUDIENCE, null], [{ 0: AUDIENCE }], { [AUDIENCE]: true }, { 0: AUDIENCE, length: 1 }, '*', '.*', ['*'], url,
    ],
    exp: [
      undefined, ...ANYTHING.filter((value) => value !== 1e308), now - 6, now - 3600, String(now + 3600), `${now + 3600}`,
      [now + 3600], { 0: now + 3600 }, new Date(Date.now() + 3_600_000).toISOString(), -now, 9e99.toString(),
    ],
    nbf: [
      ...ANYTHING.filter((value) => !isNumber(value) || value === 1e308), now + 60, now + 3600, 9e15, String(now - 60),
      [now - 60], { 0: now },
    ],
    sub: [
      undefined, ...ANYTHING.filter((value) => !isSubject(value)), 'a'.repeat(256), '😀'.repeat(256), 'a\0', '\ud800',
      'a\n', '\u0007', 'a\u0085b', ['anna', 'ben'],
    ],
    events: [{}, null, [], 'x', false, { 'http://schemas.openid.net/event/backchannel-logout': {} }],
  }; // biome-ignore format: families side by side

  return [
    ...Object.entries(wrong).flatMap(([name, values]) =>
      values.map((value) => ({
        fault: `${name} ${JSON.stringify(value)?.slice(0, 60)}`,
        token: admin({ [name]: value }),
      })),
    ),
    ...inherited(admin()).map(([fault, payload]) => {
      const input = `${encode({ alg: 'ES256', kid: 'ES256', typ: 'JWT' })}.${encode(payload)}`;
      return { fault, token: `${input}.${provider.signatureOf(input)}` };
    }),
  ];
}

/** Required claims as inherited properties; and payloads that are not an object of claims. */
function inherited(good: string): [fault: string, payload: string][] {
  const whole = Buffer.from(good.split('.')[1] as string, 'base64url').toString();
  const claims = JSON.parse(whole) as Record<string, unknown>;
  const hidden = INHERITED.flatMap((carrier) => [
    ...REQUIRED.map((name): [string, string] => {
      const { [name]: moved, ...rest } = claims;
      const inside = JSON.stringify({ [name]: moved });
      return [`${name} in ${carrier}`, `{"${carrier}":${inside},${JSON.stringify(rest).slice(1)}`];
    }),
    [`everything in ${carrier}`, `{"${carrier}":${whole}}`] as [string, string],
    [`everything in constructor.prototype of ${carrier}`, `{"constructor":{"${carrier}":${whole}}}`] as [
      string,
      string,
    ],
  ]);
  const shapes = [
    'null', 'true', '0', '5', '""', '"claims"', '[]', '[{}]', '{}', '', ' ', '{', '}', `[${whole}]`,
    JSON.stringify(whole), `${whole}${whole}`, `${whole},`, whole.slice(0, -1), whole.slice(1), `\ufeff ${whole} x`,
    `/**/${whole}`, whole.replaceAll('"', "'"), `${whole.slice(0, -1)},}`, `${whole}\0`, 'NaN', 'undefined',
    `${'['.repeat(2_000)}${']'.repeat(2_000)}`, `${'{"a":'.repeat(1_500)}1${'}'.repeat(1_500)}`,
  ]; // biome-ignore format: families side by side
  return [
    ...hidden,
    ...shapes.map((payload): [string, string] => [`the payload ${payload.slice(0, 40)}`, payload]),
  ];
}
