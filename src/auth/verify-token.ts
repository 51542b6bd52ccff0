import jwt from '@fastify/jwt';
import type { FastifyInstance } from 'fastify';
import { decodeProtectedHeader, type JWTHeaderParameters } from 'jose';
import { invalidToken } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';
import { throttle } from '../logger.js';
import type { Claims } from './club-roles.js';
import { ALGORITHMS, IssuerKeys } from './jwks.js';
import type { AuthSettings } from './settings.js';

/** The accepted difference between the clocks of two machines. */
export const LEEWAY_MS = 5_000;

const INVALID_SIGNATURE = 'FAST_JWT_INVALID_SIGNATURE';

/** Accepted values of the header `typ`: the usual one and that of RFC 9068. A token without `typ` is accepted too. */
const TYPES = ['jwt', 'at+jwt'];

/**
 * Verifies signature, times, issuer and audience of tokens with @fastify/jwt. Everything that works around fast-jwt, on which
 * that package is built, is in this file.
 *
 * @returns a function that returns the claims of a valid token; it throws Problem `invalid_token`, or
 *   `service_unavailable` when the keys cannot be fetched
 */
export async function tokenVerifier(
  app: FastifyInstance,
  { issuer, audiences, audienceClaim, jwksUrl }: AuthSettings,
): Promise<(token: string) => Promise<Claims>> {
  const variable = jwksUrl === undefined ? 'AUTH_ISSUER' : 'AUTH_JWKS_URL';
  const logFailure = throttle<string>((failures, reason) =>
    // Without the URL, whose path can be a secret.
    app.log.warn(
      { failures, reason },
      `the keys of the identity provider could not be fetched: check ${variable}`,
    ),
  );
  const keys = new IssuerKeys({ issuer, jwksUrl }, logFailure);
  // The service starts without waiting for the identity provider.
  app.addHook('onListen', async () => void keys.prefetch());

  // The header is checked before a key is fetched.
  const findKey = async ({ header }: { header: JWTHeaderParameters }): Promise<string> => {
    if (!isAccessTokenHeader(header)) {
      throw invalid('its header is not of an access token');
    }
    return keys.find(header);
  };

  await app.register(jwt, {
    secret: { public: findKey } as never,
    verify: {
      algorithms: [...ALGORITHMS],
      allowedIss: issuer,
      // Checked in every token that has `aud`, even if AUTH_AUDIENCE_CLAIM is client_id.
      allowedAud: audiences,
      requiredClaims: ['iss', audienceClaim, 'exp', 'sub'],
      clockTolerance: LEEWAY_MS,
    },
  });

  /** Verifies the token by the key that it names, and by further keys where several share that id. */
  async function verifySignature(token: string): Promise<Claims> {
    try {
      return await app.jwt.verify<Claims>(token);
    } catch (error) {
      if (!isInvalidSignature(error)) {
        throw error;
      }
      for (const key of await keys.others(decodeProtectedHeader(token) as JWTHeaderParameters)) {
        try {
          return await app.jwt.verify<Claims>(token, { key });
        } catch (failure) {
          if (!isInvalidSignature(failure)) {
            throw failure;
          }
        }
      }
      throw error;
    }
  }

  return async (token: string): Promise<Claims> => {
    let claims: Claims;
    try {
      claims = await verifySignature(token);
    } catch (error) {
      const cause = (error as { originalError?: unknown }).originalError;
      if (cause instanceof Problem) {
        throw cause.status === 503 ? cause : invalid(cause.reason);
      }
      throw invalid(reasonOf(error as Error));
    }
    if (!isCanonical(token)) {
      throw invalid('its signature is not canonical base64url');
    }
    return claims;
  };
}

/** Whether the signature is canonical base64url. Otherwise unused bits of its last letter allow several texts of one token. */
function isCanonical(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}

/** Whether the JOSE header fits an access token. Critical extensions (`crit`) are not supported (RFC 7515, 4.1.11). */
function isAccessTokenHeader({ alg, kid, typ, crit }: Record<string, unknown>): boolean {
  return (
    ALGORITHMS.some((known) => known === alg) &&
    (kid === undefined || typeof kid === 'string') &&
    (typ === undefined ||
      (typeof typ === 'string' && TYPES.includes(typ.toLowerCase().replace(/^application\//, '')))) &&
    crit === undefined
  );
}

/** The 401 for an invalid token; the reason goes to the log only. */
export function invalid(reason: string | undefined): Problem {
  return new Problem(invalidToken, {}, { reason });
}

const isInvalidSignature = (error: unknown) => (error as { code?: string }).code === INVALID_SIGNATURE;

/** Why a token is invalid, by the error code of fast-jwt. */
const reasons: Record<string, string> = {
  FAST_JWT_EXPIRED: 'it has expired',
  FAST_JWT_INACTIVE: 'its nbf is in the future',
  [INVALID_SIGNATURE]: 'its signature does not match the key that it names',
};

/** Why a claim that is compared with the configuration is invalid. */
const claimReasons: Record<string, string> = {
  iss: 'its iss is not exactly AUTH_ISSUER',
  aud: 'its aud is not in AUTH_AUDIENCE',
};

/**
 * The reason why a token is invalid, for the log only: in a response it would help to forge tokens. Claims are checked after
 * the signature, so a reason about claims means a token of the issuer. The reason repeats no content of the token.
 */
function reasonOf({ code = '', message = '' }: { code?: string; message?: string }): string {
  const claim = /CLAIM/.test(code) ? /\b(\w+) claim\b/.exec(message)?.[1] : undefined;
  if (claim === undefined) {
    return reasons[code] ?? 'it is not a signed JWT';
  }
  return code === 'FAST_JWT_MISSING_REQUIRED_CLAIM'
    ? `it has no ${claim}`
    : (claimReasons[claim] ?? `its ${claim} is invalid`);
}
