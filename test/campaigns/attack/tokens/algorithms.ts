import { createHmac, type JsonWebKey, type KeyObject } from 'node:crypto';
import { ALGORITHMS, type Algorithm, encode, type Issuer, jwkOf } from '../../../setup/issuer.js';
import type { Attempt, Target } from './target.js';

/** Values that are no algorithm, an unsupported one, or a supported one in another spelling. */
const NAMES: unknown[] = [
  'none', 'None', 'NONE', 'nOnE', 'noné', ' none', 'none ', 'none\0', 'null', 'undefined', '', ' ', '*',
  'HS256', 'HS384', 'HS512', 'hs256', 'Hs256', 'HS256 ', 'HS1', 'HS224', 'HMAC', 'hmac-sha256',
  'RS256', 'RS384', 'RS512', 'rs256', 'Rs256', ' RS256', 'RS256\0', 'RS1', 'RS224', 'RSA', 'RSA1_5', 'RSA-OAEP',
  'PS256', 'PS384', 'PS512', 'ps256', 'ES256', 'ES384', 'ES512', 'es256', 'Es256', 'ES256 ', 'ES256\n', 'ES256,none',
  'ES256K', 'ES224', 'ES256\0HS256', 'ＥＳ256', 'EdDSA', 'EDDSA', 'eddsa', 'Ed448', 'X25519', 'ML-DSA-44',
  'dir', 'A128KW', 'A256GCM', 'ECDH-ES', 'PBES2-HS256+A128KW', 'sha256', 'constructor', '__proto__', 'prototype',
  'toString', 'hasOwnProperty', 'valueOf', '0', 0, 5, -1, true, false, null, undefined, [], ['none'], ['ES256'],
  ['RS256', 'none'], {}, { alg: 'ES256' }, { toString: 'ES256' }, { 0: 'ES256', length: 1 },
]; // biome-ignore format: families side by side

const HASHES = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' };

/** Every algorithm's name with the signature of every other key, and with none. */
export function algorithms({ provider, admin }: Target): Attempt[] {
  const payload = admin().split('.')[1] as string;
  return NAMES.flatMap((alg) => {
    const shown = JSON.stringify(alg) ?? 'missing';
    const signed = ALGORITHMS.filter((by) => by !== alg).flatMap((by) =>
      [by, undefined, shown].map((kid) => {
        const input = `${encode({ alg, kid, typ: 'JWT' })}.${payload}`;
        return {
          fault: `alg ${shown}, kid ${kid}, by ${by}`,
          token: `${input}.${provider.signatureOf(input, by)}`,
        };
      }),
    );
    const unsigned = ['.', '', '.AA', `.${'A'.repeat(86)}`].map((end) => ({
      fault: `alg ${shown}, unsigned, with ${end}`,
      token: `${encode({ alg, typ: 'JWT' })}.${payload}${end}`,
    }));
    return [...signed, ...unsigned];
  });
}

/** CVE-2015-9235 and similar: a public key used as a shared secret. */
export function confusions({ provider, admin }: Target): Attempt[] {
  const payload = admin().split('.')[1] as string;
  return (['RS256', 'ES256', 'EdDSA'] as const).flatMap((name) =>
    secretsOf(provider, name).flatMap(([spelling, secret]) =>
      Object.entries(HASHES).flatMap(([alg, hash]) =>
        [alg, name, alg.toLowerCase()].map((said) => {
          const input = `${encode({ alg: said, kid: name, typ: 'JWT' })}.${payload}`;
          const signature = createHmac(hash, secret).update(input).digest('base64url');
          return { fault: `${said} by ${alg} of ${name} as ${spelling}`, token: `${input}.${signature}` };
        }),
      ),
    ),
  );
}

/** A public key in every encoding that a verifier might use. */
function secretsOf(provider: Issuer, name: Algorithm): [spelling: string, secret: string | Buffer][] {
  const key = provider.keys[name].publicKey;
  const jwk = key.export({ format: 'jwk' });
  const published = jwkOf(key, name);
  const numbers = ['n', 'x', 'y'].flatMap((member): [string, string | Buffer][] => {
    const value = jwk[member];
    return typeof value === 'string'
      ? [
          [member, value],
          [`${member} decoded`, Buffer.from(value, 'base64url')],
        ]
      : [];
  });
  return [
    ...formsOf(key, 'spki'),
    ...(name === 'RS256' ? formsOf(key, 'pkcs1') : []),
    ...numbers,
    ['JWK', JSON.stringify(jwk)],
    ['JWK with its members sorted', JSON.stringify(jwk, Object.keys(jwk).sort())],
    ['JWK as published', JSON.stringify(published)],
    ['JWK on many lines', JSON.stringify(published, null, 2)],
    ['key set', JSON.stringify({ keys: [published] })],
    ['whole key set', JSON.stringify(provider.documents.get('/jwks'))],
    ['kid', name],
    ...pointsOf(jwk),
    ['OpenSSH', openSsh(jwk)],
    ['nothing', ''],
  ];
}

/** The point of a curve, encoded by ANSI X9.62. */
function pointsOf({ x, y }: JsonWebKey): [string, Buffer][] {
  const [first, second] = [x, y].map((number) => Buffer.from(number ?? '', 'base64url')) as [Buffer, Buffer];
  return second.length === 0
    ? []
    : [
        ['point', Buffer.concat([Buffer.of(4), first, second])],
        ['point compressed', Buffer.concat([Buffer.of(2 + ((second.at(-1) ?? 0) % 2)), first])],
      ];
}

/** As in authorized_keys; a zero precedes a number that would be negative. */
function openSsh({ n, e, x, y }: JsonWebKey): string {
  const part = (bytes: Buffer | string) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(bytes));
    return Buffer.concat([length, Buffer.from(bytes)]);
  };
  const bytes = (number = '') => Buffer.from(number, 'base64url');
  const parts: (Buffer | string)[] =
    n !== undefined
      ? ['ssh-rsa', bytes(e), Buffer.concat([Buffer.of(0), bytes(n)])]
      : y !== undefined
        ? ['ecdsa-sha2-nistp256', 'nistp256', Buffer.concat([Buffer.of(4), bytes(x), bytes(y)])]
        : ['ssh-ed25519', bytes(x)];
  return `${parts[0]} ${Buffer.concat(parts.map(part)).toString('base64')}`;
}

function formsOf(key: KeyObject, type: 'spki' | 'pkcs1'): [string, string | Buffer][] {
  const pem = key.export({ type: type as 'spki', format: 'pem' }) as string;
  const der = key.export({ type: type as 'spki', format: 'der' });
  const body = pem.replaceAll(/-----.*-----\n/g, '');
  const forms: [string, string | Buffer][] = [
    ['PEM', pem],
    ['PEM trimmed', pem.trim()],
    ['PEM on one line', pem.replaceAll('\n', '')],
    ['PEM with blanks for line ends', pem.replaceAll('\n', ' ')],
    ['PEM with CRLF', pem.replaceAll('\n', '\r\n')],
    ['PEM with CRLF, trimmed', pem.trim().replaceAll('\n', '\r\n')],
    ['PEM with written line ends', pem.replaceAll('\n', '\\n')],
    ['PEM after a line end', `\n${pem}`],
    ['PEM after a blank', ` ${pem}`],
    ['PEM and a line end', `${pem}\n`],
    ['PEM and NUL', `${pem}\0`],
    ['PEM after a byte order mark', `\ufeff${pem}`],
    ['PEM in base64', Buffer.from(pem).toString('base64')],
    ['lines between the armour', body],
    ['base64', body.replaceAll('\n', '')],
    ['base64url', der.toString('base64url')],
    ['hex', der.toString('hex')],
    ['DER', der],
  ];
  return forms.map(([form, secret]) => [`${type} ${form}`, secret]);
}
