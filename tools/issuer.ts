import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';

/**
 * A token issuer for development on loopback: an OpenID Connect discovery document and a key set. The service uses it
 * through AUTH_ISSUER, like any identity provider.
 */
export interface Issuer {
  /** Its address, which is also the `iss` of its tokens. */
  url: string;
  privateKey: JWK;
}

const ALGORITHM = 'ES256';
const TOKEN_LIFETIME = '24h';
/** An issuer on loopback answers within this time in milliseconds. */
const ANSWER_TIMEOUT_MS = 2_000;

/** Reads the issuer that `make run` has created in the directory; undefined when there is none. */
export async function readIssuer(directory: string): Promise<Issuer | undefined> {
  try {
    return JSON.parse(await readFile(join(directory, 'issuer.json'), 'utf8')) as Issuer;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

/** Whether a process serves the issuer now. Another program may have its port after it was killed, so the key is compared. */
export async function isServed({ url, privateKey }: Issuer): Promise<boolean> {
  try {
    const response = await fetch(`${url}/jwks`, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
    const { keys } = (await response.json()) as { keys: JWK[] };
    return keys.some(({ kid }) => kid === privateKey.kid);
  } catch {
    return false;
  }
}

/**
 * Starts the issuer of the directory with its stored key, and on its last port if that is free, so that tokens remain
 * valid after a restart.
 */
export async function startIssuer(directory: string): Promise<{ issuer: Issuer; stop: () => Promise<void> }> {
  const before = await readIssuer(directory);
  const privateKey = before?.privateKey ?? (await newKey());
  const documents = new Map<string, unknown>();
  const server = createServer((request, response) => {
    const document = documents.get(request.url ?? '');
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document ?? {}));
  });
  const url = await listen(server, before === undefined ? 0 : Number(new URL(before.url).port));

  const { d: _private, ...publicKey } = privateKey;
  documents.set('/.well-known/openid-configuration', { issuer: url, jwks_uri: `${url}/jwks` });
  documents.set('/jwks', { keys: [publicKey] });

  const issuer = { url, privateKey };
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'issuer.json'), JSON.stringify(issuer), { mode: 0o600 });
  return {
    issuer,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Signs a token with the claims for the audience. */
export async function signToken(
  issuer: Issuer,
  audience: string | string[],
  claims: Record<string, unknown>,
): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: ALGORITHM, kid: issuer.privateKey.kid as string, typ: 'JWT' })
    .setIssuer(issuer.url)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(TOKEN_LIFETIME)
    .sign(await importJWK(issuer.privateKey, ALGORITHM));
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, alg: ALGORITHM, use: 'sig', kid: await calculateJwkThumbprint(jwk) };
}

function listen(server: Server, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' && port !== 0 ? resolve(listen(server, 0)) : reject(error),
    );
    server.listen(port, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    );
  });
}
