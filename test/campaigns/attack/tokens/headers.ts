import { createHmac, generateKeyPairSync } from 'node:crypto';
import { encode, jwkOf, newKey } from '../../../setup/issuer.js';
import type { Attempt, Target } from './target.js';

/** Key ids with a meaning for file systems, databases, objects, URLs and shells. */
const kids = (attacker: string): unknown[] => [
  'unknown', '', ' ', 'es256', 'ES256 ', ' ES256', 'ES256\0', 'ES256\n', 'ES256,RS256', 'ES25', 'ES2566',
  '/dev/null', '../../../../dev/null', '../../../../proc/sys/kernel/randomize_va_space', '..\\..\\windows\\win.ini',
  './ES256', 'ES256/../ES256', 'file:///dev/null', '/etc/passwd', '%2e%2e%2fES256', '|/usr/bin/id', '$(id)', '`id`',
  "' or '1'='1", "ES256' --", "x' union select 'secret", '1; drop table app.members', "\\'; select pg_sleep(5); --",
  '{"$ne":null}', `\${jndi:ldap://127.0.0.1/}`, '{{7*7}}', '<script>', '__proto__', 'constructor', 'prototype',
  'toString', 'hasOwnProperty', 'valueOf', 'length', '0', '\0', '\ud800', '😀', 'a'.repeat(1_000), 'a'.repeat(8_000),
  attacker, `${attacker}/jwks`, `${attacker}#ES256`, `//${attacker.slice(7)}`, 0, 5, -1, 1e308, true, false, null,
  [], ['ES256'], [['ES256']], {}, { kid: 'ES256' }, { toString: 'ES256' }, { length: 0 },
]; // biome-ignore format: families side by side

/** Types other than those of an access token, signed by the issuer. */
const TYPES: unknown[] = [
  'logout+jwt', 'application/logout+jwt', 'LOGOUT+JWT', 'secevent+jwt', 'dpop+jwt', 'id_token+jwt', 'refresh+jwt',
  'token-introspection+jwt', 'oauth-authz-req+jwt', 'entity-statement+jwt', 'kb+jwt', 'vc+sd-jwt', 'at+jwt+jwt',
  'at+jwt ', ' jwt', 'jwt\0', 'at jwt', 'at-jwt', 'atjwt', 'application/', 'application/application/jwt', 'text/jwt',
  'jwt/application/', 'JWE', 'JOSE', 'JOSE+JSON', 'JWS', 'none', '', ' ', '*', 'constructor', '__proto__', 0, 5, true,
  false, null, [], ['JWT'], {}, { toString: 'JWT' },
]; // biome-ignore format: families side by side

const CRITICAL: unknown[] = [
  ['exp'], ['b64'], ['alg'], ['kid'], ['crit'], ['typ'], ['https://example.org/extension'], ['__proto__'],
  ['constructor'], ['toString'], [''], [' '], ['b64', 'b64'], ['b64', 'exp'], [5], [null], [[]], [{}], [], 'exp', 'b64',
  '', {}, { 0: 'b64', length: 1 }, null, true, false, 0, 5,
]; // biome-ignore format: families side by side

/** Header parameters with a key or its URL, signed by the issuer where possible, and by a foreign key. */
export function headers({ provider, admin }: Target, attacker: string): Attempt[] {
  const stranger = newKey('ES256');
  const rsa = newKey('RS256');
  const payload = admin().split('.')[1] as string;
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
  const own = (header: Record<string, unknown>) => provider.sign(claims, { header });
  const foreign = (header: Record<string, unknown>) =>
    provider.sign(claims, { header, key: stranger.privateKey });
  const bySecret = (header: Record<string, unknown>, secret: string) => {
    const input = `${encode({ alg: 'HS256', typ: 'JWT', ...header })}.${payload}`;
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
  };
  const each = (name: string, values: unknown[], make: (header: Record<string, unknown>) => string) =>
    values.map((value) => ({
      fault: `${name} ${JSON.stringify(value)?.slice(0, 40)}`,
      token: make({ [name]: value }),
    }));

  const jwk = jwkOf(stranger.publicKey, 'ES256');
  const certificate = stranger.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  const secret = { kty: 'oct', k: encode('secret'), alg: 'HS256', kid: 'mine' };
  const brought: Record<string, unknown>[] = [
    { jwk }, { jwk: JSON.stringify(jwk) }, { jwk: { ...jwk, kid: 'mine' } }, { jwk: [jwk] }, { jwk: secret },
    { jwk: { keys: [jwk] } }, { jwk: {} }, { jwk: null }, { jwks: { keys: [jwk] } }, { key: jwk }, { keys: [jwk] },
    { x5c: [certificate] }, { x5c: certificate }, { x5c: [] }, { x5c: [null] }, { x5t: encode('mine') },
    { 'x5t#S256': encode('mine') }, { x5c: [certificate], x5t: encode('mine') }, { iss: attacker }, { epk: jwk },
    ...['jku', 'x5u', 'jwks_uri', 'iss', 'url', 'href', 'p2s', 'trust_chain'].flatMap((name) =>
      [attacker, `${attacker}/jwks`, `${attacker}/jwks#`, `${provider.url}@${attacker.slice(7)}/jwks`,
        `${provider.url}/jwks/../..//${attacker.slice(7)}`, `https://${attacker.slice(7)}/jwks`, attacker.replace('127.0.0.1', 'localhost'), [`${attacker}/jwks`], { url: attacker }]
        .map((value) => ({ [name]: value }))),
    { __proto__: null, alg: 'ES256', jwk }, { b64: false, jwk }, { zip: 'DEF', jwk }, { cty: 'JWT', jwk },
  ]; // biome-ignore format: families side by side

  return [
    ...each('kid', kids(attacker), own),
    ...each('kid', kids(attacker), foreign),
    ...each('kid', kids(attacker), (header) => bySecret(header, '')),
    ...each('kid', kids(attacker), (header) => bySecret(header, 'secret')),
    ...each('typ', TYPES, own),
    ...each('crit', CRITICAL, own),
    ...each('crit', CRITICAL, (header) => own({ ...header, b64: true, exp: 5, '': 1 })),
    ...brought.flatMap((header) =>
      ['mine', 'ES256', undefined].map((kid) => ({
        fault: `${JSON.stringify(header).slice(0, 60)}, kid ${kid}`,
        token: foreign({ kid, ...header }),
      })),
    ),
    ...strangers(rsa.privateKey).map(([fault, options]) => ({
      fault,
      token: provider.sign(claims, options),
    })),
  ];
}

/** Foreign keys, on the issuer's curve and on others. */
function strangers(rsa: ReturnType<typeof newKey>['privateKey']) {
  const curves = ['P-384', 'P-521', 'secp256k1', 'P-256'].map((namedCurve) => {
    const key = generateKeyPairSync('ec', { namedCurve }).privateKey;
    return [`a key of ${namedCurve}`, { key }] as const;
  });
  return [
    ...curves,
    ...['ES384', 'ES512', 'ES256K'].map(
      (alg) => [`a key of P-256 as ${alg}`, { header: { alg, kid: 'ES256' } }] as const,
    ),
    ['a stranger’s RSA', { by: 'RS256', key: rsa }] as const,
    ['a stranger’s RSA with PSS', { by: 'PS256', key: rsa }] as const,
    ['a stranger’s RSA without kid', { by: 'RS256', key: rsa, header: { kid: undefined } }] as const,
    ['a stranger’s EdDSA', { by: 'EdDSA', key: newKey('EdDSA').privateKey }] as const,
  ];
}
