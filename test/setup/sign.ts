import { importJWK, SignJWT } from 'jose';
import { AUDIENCE, type TestService } from './service.js';

/** An Authorization header with a token that was issued at that second: service.token() uses the current time. */
export async function bearerIssuedAt(
  service: TestService,
  iat: number,
  claims: Record<string, unknown>,
): Promise<string> {
  const { url, privateKey } = service.issuer;
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', kid: privateKey.kid as string })
    .setIssuer(url)
    .setAudience(AUDIENCE)
    .setIssuedAt(iat)
    .setExpirationTime('1h')
    .sign(await importJWK(privateKey, 'ES256'));
  return `Bearer ${token}`;
}
