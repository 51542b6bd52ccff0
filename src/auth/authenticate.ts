import jwt from '@fastify/jwt';
import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { decodeProtectedHeader, type JWTHeaderParameters } from 'jose';
import { invalidToken, unauthenticated } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';
import { countHeader } from '../http/header-lines.js';
import { throttle } from '../logger.js';
import type { Claims } from './club-roles.js';
import { type Identity, readIdentity } from './identity.js';
import { ALGORITHMS, IssuerKeys } from './jwks.js';
import type { AuthSettings } from './settings.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, from a verified token. */
    identity: Identity;
  }
}

/** The accepted difference between the clocks of two machines. */
const LEEWAY_MS = 5_000;
/** A verified token is cached for this long, at most until its `exp`; its signature is not checked again meanwhile. */
const CACHE_MS = 60_000;
const CACHED_TOKENS = 10_000;

const INVALID_SIGNATURE = 'FAST_JWT_INVALID_SIGNATURE';

/** Accepted values of the header `typ`: the usual one and that of RFC 9068. A token without `typ` is accepted too. */
const TYPES = ['jwt', 'at+jwt'];

/**
 * Authentication: verifies the bearer token (RFC 6750, RFC 7519) before any other step of a request.
 *
 * Every invalid token is a 401, and no database connection is acquired for it.
 */
export const authenticate = plugin<AuthSettings>(
  async (app, { issuer, audiences, audienceClaim, jwksUrl, clubs }) => {
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
        throw invalid('its header is not that of an access token');
      }
      return keys.find(header);
    };

    await app.register(jwt, {
      secret: { public: findKey } as never,
      verify: {
        algorithms: [...ALGORITHMS],
        allowedIss: issuer,
        // Checked in every token that has `aud`, also when AUTH_AUDIENCE_CLAIM is client_id.
        allowedAud: audiences,
        requiredClaims: ['iss', audienceClaim, 'exp', 'sub'],
        clockTolerance: LEEWAY_MS,
        cache: CACHED_TOKENS,
        // fast-jwt adds clockTolerance to both times.
        cacheTTL: CACHE_MS - LEEWAY_MS,
        // Failures are not cached: a key that could not be fetched may be available at the next request.
        errorCacheTTL: () => -LEEWAY_MS - 1,
      },
    });

    app.decorateRequest('identity');
    app.addHook('onRequest', async (request) => {
      const claims = await verify(bearerToken(request));
      request.identity = identities.get(claims) ?? identify(claims, request);
    });

    // A cached token returns the same claims object, so its identity is read, and its faults are logged, only once.
    const identities = new WeakMap<Claims, Identity>();

    function identify(claims: Claims, request: FastifyRequest): Identity {
      if (!['exp', 'nbf', 'iat'].every((name) => isTime(claims[name]))) {
        throw invalid('its exp, nbf or iat is not a time');
      }
      const identity = readIdentity(claims, clubs);
      const isForUs = audienceClaim === 'aud' || audiences.some((client) => client === claims[audienceClaim]);
      if (identity === null) {
        throw invalid('its sub is missing or invalid');
      }
      if (!isForUs) {
        throw invalid(`its ${audienceClaim} is none of AUTH_AUDIENCE`);
      }
      if (isOtherToken(claims)) {
        throw invalid('it is not an access token');
      }
      if (identity.clubsFault !== undefined) {
        request.log.warn(
          { claim: clubs.name, reason: identity.clubsFault },
          'the clubs claim of a token was not read completely: some or all entries give no role',
        );
      }
      identities.set(claims, identity);
      return identity;
    }

    /** Verifies the token by the key that it names, and by further keys where several share that id. */
    async function verifySignature(token: string): Promise<unknown> {
      try {
        return await app.jwt.verify(token);
      } catch (error) {
        if (!isInvalidSignature(error)) {
          throw error;
        }
        for (const key of await keys.others(decodeProtectedHeader(token) as JWTHeaderParameters)) {
          try {
            return await app.jwt.verify(token, { key, cache: false });
          } catch (failure) {
            if (!isInvalidSignature(failure)) {
              throw failure;
            }
          }
        }
        throw error;
      }
    }

    async function verify(token: string): Promise<Claims> {
      let claims: unknown;
      try {
        claims = await verifySignature(token);
      } catch (error) {
        const cause = (error as { originalError?: unknown }).originalError;
        if (cause instanceof Problem) {
          throw cause.status === 503 ? cause : invalid(cause.reason);
        }
        throw invalid(faultOfToken(error as Error));
      }
      // fast-jwt caches an error of Node.js, such as that of an unusable key, and returns it as if it were the claims.
      if (claims instanceof Error) {
        throw invalid('it could not be verified');
      }
      return claims as Claims;
    }
  },
  { name: 'authenticate', dependencies: ['error-handler'] },
);

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

/**
 * Reads the token from the one Authorization header (RFC 6750, section 2.1).
 *
 * @throws Problem `unauthenticated` without a token, also if there is one of another scheme (section 3.1); `invalid_token`
 */
function bearerToken(request: FastifyRequest): string {
  const count = countHeader(request.raw, 'authorization');
  const match = /^Bearer +([\w\-.~+/]+=*) *$/i.exec(request.headers.authorization ?? '');
  if (match?.[1] !== undefined && count === 1 && isCanonical(match[1])) {
    return match[1];
  }
  if (count === 0) {
    throw noToken();
  }
  throw count === 1 && !/^Bearer +[^ ]/i.test(request.headers.authorization ?? '')
    ? noToken('the header Authorization has another scheme, or a token without one')
    : invalid('the header Authorization does not contain one token after its scheme');
}

/** Whether the signature is canonical base64url. Otherwise unused bits of its last letter allow several texts of one token. */
function isCanonical(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}

/** The last second of the year 9999. JSON allows larger numbers, such as 1e400. */
const LATEST_S = 253_402_300_799;

/** Whether a claim is absent or a NumericDate (RFC 7519, section 2) until the year 9999. */
function isTime(claim: unknown): boolean {
  return claim === undefined || (typeof claim === 'number' && claim >= 0 && claim <= LATEST_S);
}

/** The 401 without a token. It has no error code (RFC 6750, 3.1). */
function noToken(reason?: string): Problem {
  return new Problem(unauthenticated, {}, { headers: { 'www-authenticate': 'Bearer' }, reason });
}

/** The 401 for an invalid token; the reason goes to the log only. */
function invalid(reason: string | undefined): Problem {
  const challenge = 'Bearer error="invalid_token", error_description="The access token is not valid here"';
  return new Problem(invalidToken, {}, { headers: { 'www-authenticate': challenge }, reason });
}

/** Kinds of token that Keycloak writes into the claim `typ`; an access token is `Bearer`. */
const OTHER_TYPES = ['ID', 'Refresh', 'Offline', 'Logout'];

/**
 * Whether the claims show that a token is not an access token, although the issuer signed it and the audience may be
 * right: a logout token (OpenID Connect Back-Channel Logout, `events`) or an ID token (OpenID Connect Core 1.0, `at_hash`
 * and `c_hash`; Amazon Cognito, `token_use`; Keycloak, `typ`).
 *
 * `nonce` does not show it: Keycloak before release 24 put it into access tokens too.
 */
function isOtherToken(claims: Claims): boolean {
  const { token_use: use, typ } = claims;
  return (
    ['events', 'at_hash', 'c_hash'].some((claim) => Object.hasOwn(claims, claim)) ||
    (use !== undefined && use !== 'access') ||
    OTHER_TYPES.some((type) => type === typ)
  );
}

const isInvalidSignature = (error: unknown) => (error as { code?: string }).code === INVALID_SIGNATURE;

/** The fault of a token, by the error code of fast-jwt. */
const faults: Record<string, string> = {
  FAST_JWT_EXPIRED: 'it has expired',
  FAST_JWT_INACTIVE: 'its nbf is in the future',
  [INVALID_SIGNATURE]: 'its signature does not match the key that it names',
};

/** The fault of a claim that is compared with the configuration. */
const claimFaults: Record<string, string> = {
  iss: 'its iss is not exactly AUTH_ISSUER',
  aud: 'its aud is none of AUTH_AUDIENCE',
};

/**
 * The reason why a token is invalid, for the log only: in an answer it would help to forge tokens. Claims are checked after
 * the signature, so a reason about claims means a token of the issuer. The reason repeats no content of the token.
 */
function faultOfToken({ code = '', message = '' }: { code?: string; message?: string }): string {
  const claim = /CLAIM/.test(code) ? /\b(\w+) claim\b/.exec(message)?.[1] : undefined;
  if (claim === undefined) {
    return faults[code] ?? 'it is not a signed JWT';
  }
  return code === 'FAST_JWT_MISSING_REQUIRED_CLAIM'
    ? `it has no ${claim}`
    : (claimFaults[claim] ?? `its ${claim} is invalid`);
}
