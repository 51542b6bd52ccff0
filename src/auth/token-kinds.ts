import type { Claims } from './club-roles.js';

/** Kinds of token that Keycloak writes into the claim `typ`; an access token is `Bearer`. */
const OTHER_TYPES = ['ID', 'Refresh', 'Offline', 'Logout'];

/**
 * Whether a token says of itself that it is another than an access token, though signed by the same issuer and
 * perhaps for the same audience: a logout token (OpenID Connect Back-Channel Logout, `events`), an ID token
 * (OpenID Connect Core 1.0, `at_hash` and `c_hash`; Amazon Cognito, `token_use`; Keycloak, `typ`).
 *
 * `nonce` is no sign: Keycloak before release 24 put it into access tokens too.
 */
export function isOtherToken(claims: Claims): boolean {
  const { token_use: use, typ } = claims;
  return (
    ['events', 'at_hash', 'c_hash'].some((claim) => Object.hasOwn(claims, claim)) ||
    (use !== undefined && use !== 'access') ||
    OTHER_TYPES.some((type) => type === typ)
  );
}
