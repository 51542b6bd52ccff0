import { createHmac, generateKeyPairSync } from 'node:crypto';
import { encode, jwkOf, newKey } from '../../../setup/issuer.js';
import type { Attempt, Target } from './target.js';

const SECRET = 'what only two may know';

const rsa = newKey('RS256');
const ec = newKey('ES256');
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });

/**
 * Keys for another use, as an issuer may jwkOf them: for encryption, for key agreement, shared secrets, and one whose
 * curve is not the algorithm's.
 */
export const KEYS_FOR_ANOTHER_USE = [
  { kty: 'oct', k: encode(SECRET), kid: 'secret', alg: 'HS256', use: 'sig' },
  { kty: 'oct', k: encode(SECRET), kid: 'bare secret' },
  { ...jwkOf(rsa.publicKey, 'RS256', 'encryption'), use: 'enc', alg: 'RSA-OAEP' },
  { ...jwkOf(rsa.publicKey, 'RS256', 'encryption by use'), use: 'enc', alg: undefined },
  { ...jwkOf(ec.publicKey, 'ES256', 'agreement'), use: undefined, alg: undefined, key_ops: ['deriveBits'] },
  { ...jwkOf(p384.publicKey, 'ES256', 'another curve'), alg: undefined },
  { kty: 'unknown', kid: 'unknown kind' },
];

/** Tokens signed by these keys. */
export function misusedKeys({ provider, admin }: Target): Attempt[] {
  const payload = admin().split('.')[1] as string;
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
  const bySecret = ['secret', 'bare secret'].flatMap((kid) =>
    ['HS256', 'ES256', 'RS256'].map((alg) => {
      const input = `${encode({ alg, kid, typ: 'JWT' })}.${payload}`;
      const signature = createHmac('sha256', SECRET).update(input).digest('base64url');
      return { fault: `${alg} by the shared ${kid}`, token: `${input}.${signature}` };
    }),
  );
  const byKey = [
    ...['encryption', 'encryption by use'].flatMap((kid) =>
      (['RS256', 'PS256'] as const).map((by) => ({ kid, by, key: rsa.privateKey })),
    ),
    { kid: 'agreement', by: 'ES256' as const, key: ec.privateKey },
    { kid: 'another curve', by: 'ES256' as const, key: p384.privateKey },
    { kid: 'unknown kind', by: 'ES256' as const, key: ec.privateKey },
  ].map(({ kid, by, key }) => ({
    fault: `${by} by the key for ${kid}`,
    token: provider.sign(claims, { by, key, header: { kid } }),
  }));
  return [...bySecret, ...byKey];
}
