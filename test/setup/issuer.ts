import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

export const AUDIENCE = 'club-management-service';

/** The algorithms of its keys; each key's id is the name of its algorithm. */
export const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

export interface KeyPair {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

/** A token issuer that can also sign invalid tokens, send any response, and go down. */
export interface Issuer {
  url: string;
  /** Its responses by path: a value is sent as JSON, a function sends the response. */
  documents: Map<string, unknown>;
  /** The number of requests for each path. */
  fetches: Map<string, number>;
  /** The number of connections, with HTTP, TLS or no data. */
  connections(): number;
  keys: Record<Algorithm, KeyPair>;
  /** A token, valid for a day. The given values replace the defaults; undefined removes a claim. */
  sign(claims?: Record<string, unknown>, options?: SignOptions): string;
  /** The signature of any text by its key. */
  signatureOf(input: string, by?: Algorithm): string;
  stop(): Promise<void>;
  /** Starts it again at the same address, if it is down. */
  start(): Promise<void>;
}

export interface SignOptions {
  header?: Record<string, unknown>;
  /** The signing key and algorithm, independent of the header. */
  by?: Algorithm;
  key?: KeyObject;
}

const LIFETIME_S = 86_400;

export const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** Created once, because RSA keys are slow to generate. */
const rsa = newKey('RS256');
const keys = { RS256: rsa, PS256: rsa, ES256: newKey('ES256'), EdDSA: newKey('EdDSA') };

export async function startIssuer(t: Pick<Test, 'teardown'>): Promise<Issuer> {
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
  const stop = async () => {
    if (server.listening) {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    }
  };
  t.teardown(stop);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;

  documents.set('/.well-known/openid-configuration', { issuer: url, jwks_uri: `${url}/jwks` });
  documents.set('/jwks', { keys: ALGORITHMS.map((alg) => jwkOf(keys[alg].publicKey, alg)) });

  const signToken: Issuer['sign'] = (claims = {}, { header = {}, by = 'ES256', key } = {}) => {
    const iat = Math.floor(Date.now() / 1000);
    const good = { iss: url, aud: AUDIENCE, sub: 'anna', iat, exp: iat + LIFETIME_S };
    const input = `${encode({ alg: by, kid: by, typ: 'JWT', ...header })}.${encode({ ...good, ...claims })}`;
    return `${input}.${signatureOf(input, by, key ?? keys[by].privateKey)}`;
  };

  return {
    url,
    documents,
    fetches,
    connections: () => connections,
    keys,
    sign: signToken,
    signatureOf: (input, by = 'ES256') => signatureOf(input, by, keys[by].privateKey),
    stop,
    start: async () => {
      if (!server.listening) {
        await once(server.listen(port, '127.0.0.1'), 'listening');
      }
    },
  };
}

export function newKey(alg: Algorithm): KeyPair {
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
export function jwkOf(key: KeyObject, alg: Algorithm, kid: string = alg): Record<string, unknown> {
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
