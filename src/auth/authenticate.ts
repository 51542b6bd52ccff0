import jwt from '@fastify/jwt';
import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { decodeProtectedHeader, type JWTHeaderParameters } from 'jose';
import { invalidToken, unauthenticated } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';
import { countHeader } from '../http/header-lines.js';
import type { Claims } from './club-roles.js';
import { type Identity, readIdentity } from './identity.js';
import { ALGORITHMS, IssuerKeys } from './jwks.js';
import type { AuthSettings } from './settings.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sends the request, from a verified token. */
    identity: Identity;
  }
}

/** Clocks of two machines differ by this much, in milliseconds. */
const LEEWAY_MS = 5_000;
/** A verified token is believed without a new check of its signature for this long, and never beyond its `exp`. */
const CACHE_MS = 60_000;
const CACHED_TOKENS = 10_000;

const INVALID_SIGNATURE = 'FAST_JWT_INVALID_SIGNATURE';

/** The types an access token says it has: the usual one, and that of RFC 9068; many say none. */
const TYPES = ['jwt', 'at+jwt'];

/**
 * Who is asking: verifies the bearer token (RFC 6750, RFC 7519) before anything else happens to a request.
 *
 * Every way in which a token can be wrong is a 401, and no connection to the database is taken for it.
 */
export const authenticate = plugin<AuthSettings>(
  async (app, { issuer, audiences, audienceClaim, jwksUrl, clubs }) => {
    const keys = new IssuerKeys({ issuer, jwksUrl }, (reason) =>
      app.log.warn({ reason }, 'the keys of the identity provider could not be fetched'),
    );

    // Headers are looked at before any key is fetched for them.
    const findKey = async ({ header }: { header: JWTHeaderParameters }): Promise<string> => {
      if (!isAccessTokenHeader(header)) {
        throw refusal('its header is not that of an access token');
      }
      return keys.find(header);
    };

    await app.register(jwt, {
      secret: { public: findKey } as never,
      verify: {
        algorithms: [...ALGORITHMS],
        allowedIss: issuer,
        // Looked at whenever it is there: a token for somebody else is not for us, whoever the client is.
        allowedAud: audiences,
        requiredClaims: ['iss', audienceClaim, 'exp', 'sub'],
        clockTolerance: LEEWAY_MS,
        cache: CACHED_TOKENS,
        cacheTTL: CACHE_MS,
        // Failures are not cached: a key that could not be fetched may be there a moment later.
        errorCacheTTL: () => -LEEWAY_MS - 1,
      },
    });

    app.decorateRequest('identity');
    app.addHook('onRequest', async (request) => {
      const claims = await verify(bearerToken(request));
      request.identity = identities.get(claims) ?? identify(claims, request);
    });

    // A token that is believed from the cache has the same claims again: they are read, and their faults logged, once.
    const identities = new WeakMap<Claims, Identity>();

    function identify(claims: Claims, request: FastifyRequest): Identity {
      const identity = readIdentity(claims, clubs);
      const isForUs = audienceClaim === 'aud' || audiences.some((client) => client === claims[audienceClaim]);
      if (identity === null) {
        throw refusal('its sub is unfit');
      }
      if (!isForUs) {
        throw refusal(`its ${audienceClaim} is none of AUTH_AUDIENCE`);
      }
      if (!['exp', 'nbf', 'iat'].every((name) => isTime(claims[name]))) {
        throw refusal('its exp, nbf or iat is no time');
      }
      if (isOtherToken(claims)) {
        throw refusal('it is another token than an access token');
      }
      if (identity.clubsFault !== undefined) {
        request.log.warn(
          { claim: clubs.name, reason: identity.clubsFault },
          'The clubs claim of a token gives no role, or not every one that it names.',
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
            return await app.jwt.verify(token, { key });
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
          throw cause.status === 503 ? cause : refusal(cause.reason);
        }
        throw refusal(faultOfToken(error as Error));
      }
      if (Object.prototype.toString.call(claims) !== '[object Object]' || claims instanceof Error) {
        throw refusal('its claims are no object');
      }
      return claims as Claims;
    }
  },
  { name: 'authenticate', dependencies: ['problems'] },
);

/** Extensions that must be understood (`crit`) are not, so a token that has any is refused (RFC 7515, 4.1.11). */
function isAccessTokenHeader({ alg, kid, typ, crit }: Record<string, unknown>): boolean {
  return (
    ALGORITHMS.some((known) => known === alg) &&
    (kid === undefined || typeof kid === 'string') &&
    (typ === undefined ||
      (typeof typ === 'string' && TYPES.includes(typ.toLowerCase().replace(/^application\//, '')))) &&
    crit === undefined
  );
}

/** RFC 6750, section 2.1: one Authorization header, one token. */
function bearerToken(request: FastifyRequest): string {
  const count = countHeader(request.raw, 'authorization');
  const match = /^Bearer +([\w\-.~+/]+=*) *$/i.exec(request.headers.authorization ?? '');
  if (match?.[1] !== undefined && count === 1 && isCanonical(match[1])) {
    return match[1];
  }
  throw count === 0
    ? new Problem(unauthenticated, {}, { headers: { 'www-authenticate': 'Bearer' } })
    : refusal('the header Authorization does not hold one token behind its scheme');
}

/** Whether the signature is spelled as its bytes are: unused bits of its last letter would make other texts of the same token. */
function isCanonical(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}

/** The last second of the year 9999. JSON can write numbers that no clock reaches, such as 1e400. */
const LATEST_S = 253_402_300_799;

/** Whether a claim is absent or a NumericDate (RFC 7519, section 2) that a clock can reach. */
function isTime(claim: unknown): boolean {
  return claim === undefined || (typeof claim === 'number' && claim >= 0 && claim <= LATEST_S);
}

/** The 401 of a token; the reason is for the log alone. */
function refusal(reason: string | undefined): Problem {
  const challenge = 'Bearer error="invalid_token", error_description="The access token is not valid here"';
  return new Problem(invalidToken, {}, { headers: { 'www-authenticate': challenge }, reason });
}

/** Kinds of token that Keycloak writes into the claim `typ`; an access token is `Bearer`. */
const OTHER_TYPES = ['ID', 'Refresh', 'Offline', 'Logout'];

/**
 * Whether a token says of itself that it is another than an access token, though signed by the same issuer and
 * perhaps for the same audience: a logout token (OpenID Connect Back-Channel Logout, `events`), an ID token
 * (OpenID Connect Core 1.0, `at_hash` and `c_hash`; Amazon Cognito, `token_use`; Keycloak, `typ`).
 *
 * `nonce` is no sign: Keycloak before release 24 put it into access tokens too.
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

/** What is wrong with a token, by the code of the library that looked at it. */
const faults: Record<string, string> = {
  FAST_JWT_EXPIRED: 'it has expired',
  FAST_JWT_INACTIVE: 'its nbf is ahead',
  [INVALID_SIGNATURE]: 'its signature is not that of the key that it names',
};

/** What is wrong with a claim, where the configuration says what would be right. */
const claimFaults: Record<string, string> = {
  iss: 'its iss is not AUTH_ISSUER, to the letter',
  aud: 'its aud is none of AUTH_AUDIENCE',
};

/**
 * Why a token was refused, for the log: to the caller it would tell how to forge a better one. Claims are looked at
 * after the signature, so what is said of them is said of tokens of the issuer. Nothing that stands in a token is
 * repeated.
 */
function faultOfToken({ code = '', message = '' }: { code?: string; message?: string }): string {
  const claim = /CLAIM/.test(code) ? /\b(\w+) claim\b/.exec(message)?.[1] : undefined;
  if (claim === undefined) {
    return faults[code] ?? 'it is no signed JWT';
  }
  return code === 'FAST_JWT_MISSING_REQUIRED_CLAIM'
    ? `it has no ${claim}`
    : (claimFaults[claim] ?? `its ${claim} is unfit`);
}
