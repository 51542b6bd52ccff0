import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { AUDIENCE } from './service.js';

/** The algorithms of its keys; each key's id is the name of its algorithm. */
export const KEYS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type Algorithm = (typeof KEYS)[number];

/** An identity provider that can sign invalid tokens, and that can go down. */
export interface Provider {
  url: string;
  /** Its responses by path: a value is sent as JSON, a function sends the response. */
  documents: Map<string, unknown>;
  /** The number of requests for each path. */
  fetches: Map<string, number>;
  /** The number of connections, with HTTP, TLS or no data. */
  connections(): number;
  publicKeys: Record<Algorithm, KeyObject>;
  /** A token. The given values replace those of a valid token; undefined removes a claim. */
  sign(claims?: Record<string, unknown>, options?: SignOptions): string;
  /** The signature of any text by its key. */
  seal(input: string, by?: Algorithm): string;
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
}

export interface SignOptions {
  header?: Record<string, unknown>;
  /** The signing key and algorithm, independent of the header. */
  by?: Algorithm;
  key?: KeyObject;
}

export const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** Created once, because RSA keys are slow to generate. */
const rsa = newKey('RS256');
const pairs = { RS256: rsa, PS256: rsa, ES256: newKey('ES256'), EdDSA: newKey('EdDSA') };

export async function startProvider(t: Test): Promise<Provider> {
  const documents = new Map<string, unknown>();
  const fetches = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const document = documents.get(path);
    fetches.set(path, (fetches.get(path) ?? 0) + 1);
    if (typeof document === 'function') {
      document(response);
    } else {
      response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(document ?? {}));
    }
  });
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  const goDown = async () => {
    if (server.listening) {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    }
  };
  t.teardown(goDown);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;

  documents.set('/.well-known/openid-configuration', { issuer: url, jwks_uri: `${url}/jwks` });
  documents.set('/jwks', { keys: KEYS.map((alg) => publish(pairs[alg].publicKey, alg)) });

  const signToken: Provider['sign'] = (claims = {}, { header = {}, by = 'ES256', key } = {}) => {
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const good = { iss: url, aud: AUDIENCE, sub: 'anna', iat: exp - 3600, exp };
    const input = `${encode({ alg: by, kid: by, typ: 'JWT', ...header })}.${encode({ ...good, ...claims })}`;
    return `${input}.${signatureOf(input, by, key ?? pairs[by].privateKey)}`;
  };

  return {
    url,
    documents,
    fetches,
    connections: () => connections,
    publicKeys: {
      RS256: rsa.publicKey,
      PS256: rsa.publicKey,
      ES256: pairs.ES256.publicKey,
      EdDSA: pairs.EdDSA.publicKey,
    },
    sign: signToken,
    seal: (input, by = 'ES256') => signatureOf(input, by, pairs[by].privateKey),
    goDown,
    comeBack: async () => {
      await once(server.listen(port, '127.0.0.1'), 'listening');
    },
  };
}

export function newKey(alg: Algorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  switch (alg) {
    case 'ES256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' });
    case 'EdDSA':
      return generateKeyPairSync('ed25519');
    default:
      return generateKeyPairSync('rsa', { modulusLength: 2048 });
  }
}

/** A public key as in a key set. */
export function publish(key: KeyObject, alg: Algorithm, kid: string = alg): Record<string, unknown> {
  return { ...key.export({ format: 'jwk' }), alg, kid, use: 'sig' };
}

function signatureOf(input: string, by: Algorithm, key: KeyObject): string {
  const options = {
    RS256: { key },
    PS256: { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 },
    ES256: { key, dsaEncoding: 'ieee-p1363' as const },
    EdDSA: { key },
  }[by];
  return sign(by === 'EdDSA' ? null : 'sha256', Buffer.from(input), options).toString('base64url');
}
