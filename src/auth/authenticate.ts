import type { FastifyRequest } from 'fastify';
import plugin from 'fastify-plugin';
import { LruMap } from 'toad-cache';
import { invalidToken, unauthenticated } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';
import { countHeader } from '../http/header-lines.js';
import type { Claims } from './club-roles.js';
import { type Identity, readIdentity } from './identity.js';
import { metadataUrl } from './resource-metadata.js';
import type { AuthSettings } from './settings.js';
import { invalid, LEEWAY_MS, tokenVerifier } from './verify-token.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, from a verified token. */
    identity: Identity;
  }
}

/** A verified token is cached for this long, at most until its `exp`; its signature is not checked again meanwhile. */
const CACHE_MS = 60_000;
/** A token has at most 16 KiB, as all headers of a request together. */
const CACHED_TOKENS = 10_000;

/** The caller of a verified token, and the first and the last millisecond at which it counts as verified. */
interface Verified {
  identity: Identity;
  from: number;
  until: number;
}

export interface AuthenticateOptions extends AuthSettings {
  /** The origin of the service, for the challenge of a 401; empty when it is unknown. */
  publicUrl: string;
}

/**
 * Authentication: verifies the bearer token (RFC 6750, RFC 7519) before any other step of a request.
 *
 * Every invalid token is a 401, and no database connection is acquired for it.
 */
export const authenticate = plugin<AuthenticateOptions>(
  async (app, settings) => {
    const { audiences, audienceClaim, clubs, publicUrl } = settings;
    const verify = await tokenVerifier(app, settings);
    app.decorateRequest('identity');
    // By the text of the token. Failures are not cached: a key that could not be fetched may be available at the next request.
    const cache = new LruMap<Verified>(CACHED_TOKENS);

    app.addHook('onRequest', async (request, reply) => {
      try {
        request.identity = await identityOf(request);
      } catch (error) {
        if (error instanceof Problem && error.status === 401) {
          reply.header('www-authenticate', challengeOf(error, publicUrl));
        }
        throw error;
      }
    });

    async function identityOf(request: FastifyRequest): Promise<Identity> {
      const token = bearerToken(request);
      const cached = cache.get(token);
      const now = Date.now();
      if (cached !== undefined && cached.from <= now && now <= cached.until) {
        return cached.identity;
      }
      const claims = await verify(token);
      const identity = identify(claims, request);
      cache.set(token, {
        identity,
        // After the clock was set back, the token is verified again.
        from: now,
        until: Math.min(now + CACHE_MS, Number(claims.exp) * 1_000 + LEEWAY_MS),
      });
      return identity;
    }

    function identify(claims: Claims, request: FastifyRequest): Identity {
      if (!['exp', 'nbf', 'iat'].every((name) => isTime(claims[name]))) {
        throw invalid('exp, nbf or iat is not a valid time');
      }
      const identity = readIdentity(claims, clubs);
      const isForUs = audienceClaim === 'aud' || audiences.some((client) => client === claims[audienceClaim]);
      if (identity === null) {
        throw invalid('its sub is missing or invalid');
      }
      if (!isForUs) {
        throw invalid(`its ${audienceClaim} is not in AUTH_AUDIENCE`);
      }
      if (isOtherToken(claims)) {
        throw invalid('it is not an access token');
      }
      if (identity.clubsReason !== undefined) {
        request.log.warn(
          { claim: clubs.name, reason: identity.clubsReason },
          'the clubs claim of a token was not read completely: some or all entries give no role',
        );
      }
      return identity;
    }
  },
  { name: 'authenticate', dependencies: ['error-handler'] },
);

/**
 * Reads the token from the one Authorization header (RFC 6750, section 2.1).
 *
 * @throws Problem `unauthenticated` without a token, even if there is one of another scheme (section 3.1); `invalid_token`
 */
function bearerToken(request: FastifyRequest): string {
  const count = countHeader(request.raw, 'authorization');
  const match = /^Bearer +([\w\-.~+/]+=*) *$/i.exec(request.headers.authorization ?? '');
  if (match?.[1] !== undefined && count === 1) {
    return match[1];
  }
  if (count === 0) {
    throw noToken();
  }
  throw count === 1 && !/^Bearer +[^ ]/i.test(request.headers.authorization ?? '')
    ? noToken('the header Authorization has another scheme, or a token without one')
    : invalid('the header Authorization does not contain one token after its scheme');
}

/** The last second of the year 9999. JSON allows larger numbers, such as 1e400. */
const LATEST_S = 253_402_300_799;

/** Whether a claim is absent or a NumericDate (RFC 7519, section 2) until the year 9999. */
function isTime(claim: unknown): boolean {
  return claim === undefined || (typeof claim === 'number' && claim >= 0 && claim <= LATEST_S);
}

/** The 401 without a token. */
function noToken(reason?: string): Problem {
  return new Problem(unauthenticated, {}, { reason });
}

/** How to authenticate. Without a token there is no error code (RFC 6750, section 3.1); RFC 9728, section 5.1, adds where the issuer is. */
function challengeOf({ type }: Problem, publicUrl: string): string {
  const parameters = [
    ...(type === invalidToken
      ? ['error="invalid_token"', 'error_description="The access token is not valid here"']
      : []),
    ...(publicUrl === '' ? [] : [`resource_metadata="${metadataUrl(publicUrl)}"`]),
  ];
  return `Bearer ${parameters.join(', ')}`.trimEnd();
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
