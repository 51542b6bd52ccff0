import { createPublicKey } from 'node:crypto';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { CompactEncrypt, importJWK, type JWK } from 'jose';
import { encode, jwkOf } from '../../../setup/issuer.js';
import type { Attempt, Target } from './target.js';

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];

/** A valid token in another form: truncated, extended, re-encoded, in another serialization, wrapped. */
export async function spellings(target: Target): Promise<Attempt[]> {
  const token = target.admin();
  const parts = token.split('.') as [string, string, string];
  const [header, payload, signature] = parts;
  const cut = Array.from({ length: token.length }, (_, length) => token.slice(0, length));
  const rest = Array.from({ length: token.length - 1 }, (_, start) => token.slice(start + 1));
  const longer = LETTERS.flatMap((letter) => [
    `${token}${letter}`, `${letter}${token}`, `${header}${letter}.${payload}.${signature}`,
    `${header}.${payload}${letter}.${signature}`, `${header}.${letter}${payload}.${signature}`,
  ]); // biome-ignore format: one letter
  const perPart = parts.flatMap((_, place) =>
    respellings(parts[place] as string).map((other) =>
      parts.map((part, at) => (at === place ? other : part)).join('.'),
    ),
  );
  const wrapped = [
    ['as JSON', { payload, protected: header, signature }],
    ['as general JSON', { payload, signatures: [{ protected: header, signature }] }],
    ['with an unprotected header', { payload, header: { alg: 'ES256', kid: 'ES256' }, signature }],
    ['as a list', parts],
    ['as a string', token],
  ].flatMap(([, json]) => [JSON.stringify(json), encode(json), `${encode(json)}..`]);
  const joined = [
    `${token}.`, `.${token}`, `${token}.${signature}`, `${token}..`, `${header}..${signature}`, `${header}..`, '..', '.',
    '...', '....', '', `${payload}.${header}.${signature}`, `${signature}.${payload}.${header}`, `${header}.${header}.${signature}`,
    `${header}.${payload}.${header}`, `${header}.${payload}.${payload}`, `${token}${token}`, `${token}.${token}`, `${token}~`,
    `${token}~${encode('["salt","role","Admin"]')}~`, token.replaceAll('.', '..'), token.replaceAll('.', '~'),
    token.replaceAll('.', '/'), token.replaceAll('.', '-'), token.replaceAll('.', '%2E'), token.toLowerCase(),
    token.toUpperCase(), [...token].reverse().join(''), encode(token), Buffer.from(token).toString('base64'),
    Buffer.from(token).toString('hex'), encodeURIComponent(`${token}=`), `${header}.${payload}.${signature.slice(0, -4)}`,
  ]; // biome-ignore format: families side by side
  const plain = [...cut, ...rest, ...longer, ...perPart, ...wrapped, ...joined];
  return [
    ...plain.map((other, index) => ({ fault: `spelling ${index}: ${other.slice(-60)}`, token: other })),
    ...(await encrypted(target, token)),
    ...otherPayloads(target, token),
    // Spaces around a token are not part of it, and a header cannot contain other characters.
  ].filter((attempt) => attempt.token.trim() !== token && /^[\x20-\x7e]*$/.test(attempt.token));
}

/** A part in forms that other decoders accept. */
function respellings(part: string): string[] {
  const bytes = Buffer.from(part, 'base64url');
  const middle = part.length >> 1;
  const around = ['=', '==', '===', ' ', '+', '/', '%', '*', ',', ':', '"', '~', '!', '\t'].flatMap((mark) => [
    `${part}${mark}`, `${mark}${part}`, `${part.slice(0, middle)}${mark}${part.slice(middle)}`,
  ]); // biome-ignore format: before, behind and within
  return [
    ...around, bytes.toString('base64'), bytes.toString('hex'), encode(part), `${part}%3D`, `${part}%00`, `${part}AA`,
    `${part}AAAA`, `AAAA${part}`, part.slice(1), part.slice(0, -1), part.slice(0, -2), `${part}${part}`, '', 'A', 'null',
    encode(gzipSync(bytes).toString('base64')), gzipSync(bytes).toString('base64url'), encode(Buffer.from(bytes.toString('latin1'), 'utf16le').toString('latin1')),
  ]; // biome-ignore format: families side by side
}

/** Encrypted for the issuer's keys: anybody can do that, so it does not prove the sender (CVE-2026-29000). */
async function encrypted({ provider }: Target, token: string): Promise<Attempt[]> {
  const payload = Buffer.from(token.split('.')[1] as string, 'base64url');
  const claims = `${encode({ alg: 'none' })}.${payload.toString('base64url')}.`;
  const made: Promise<Attempt>[] = [];
  for (const [alg, name] of [
    ['RSA-OAEP', 'RS256'],
    ['RSA-OAEP-256', 'RS256'],
    ['ECDH-ES', 'ES256'],
    ['ECDH-ES+A128KW', 'ES256'],
  ] as const) {
    for (const text of [payload, Buffer.from(token), Buffer.from(claims)]) {
      for (const cty of ['JWT', undefined]) {
        const header = { alg, enc: 'A128GCM', kid: name, ...(cty && { cty }) };
        const {
          alg: _,
          use: __,
          ...jwk
        } = jwkOf(
          createPublicKey(provider.keys[name].publicKey.export({ type: 'spki', format: 'pem' })),
          name,
        );
        made.push(
          importJWK(jwk as JWK, alg)
            .then((key) => new CompactEncrypt(text).setProtectedHeader(header).encrypt(key))
            .then((jwe) => ({ fault: `encrypted with ${alg}, cty ${cty}`, token: jwe })),
        );
      }
    }
  }
  return Promise.all(made);
}

/** Payloads that must be decoded first, signed by the issuer. */
function otherPayloads({ provider }: Target, token: string): Attempt[] {
  const payload = Buffer.from(token.split('.')[1] as string, 'base64url');
  const sealed = (header: object, text: string) => {
    const input = `${encode({ alg: 'ES256', kid: 'ES256', ...header })}.${text}`;
    return `${input}.${provider.signatureOf(input)}`;
  };
  const raw = sealed({ b64: false }, payload.toString().replaceAll('.', ''));
  return [
    { fault: 'nested', token: sealed({ cty: 'JWT' }, encode(token)) },
    { fault: 'nested, without cty', token: sealed({}, encode(token)) },
    { fault: 'nested in JSON', token: sealed({ cty: 'JWT' }, encode({ jwt: token })) },
    { fault: 'nested as a string', token: sealed({}, encode(JSON.stringify(token))) },
    { fault: 'deflated', token: sealed({ zip: 'DEF' }, deflateRawSync(payload).toString('base64url')) },
    { fault: 'a bomb', token: sealed({ zip: 'DEF' }, deflateRawSync(Buffer.alloc(5_000_000)).toString('base64url')) },
    { fault: 'unencoded', token: raw },
    { fault: 'unencoded and critical', token: sealed({ b64: false, crit: ['b64'] }, payload.toString('base64url')) },
    { fault: 'plain base64', token: sealed({}, payload.toString('base64').padEnd(600, '=')) },
    { fault: 'UTF-16', token: sealed({}, Buffer.from(payload.toString(), 'utf16le').toString('base64url')) },
    { fault: 'twice encoded', token: sealed({}, encode(payload.toString('base64url'))) },
    { fault: 'detached', token: sealed({}, payload.toString('base64url')).replace(/\..*\./, '..') },
  ]; // biome-ignore format: one a line
}
