import { findRole } from '../roles.js';
import { readNames } from '../validation/names.js';
import { isUuid } from '../validation/uuid.js';
import type { Variables } from '../variables.js';
import { type ClubsClaim, isClaimName } from './club-roles.js';
import { ClubsPattern, isClubsPattern } from './clubs-pattern.js';

/** Which tokens are accepted, and which of their claims are read. */
export interface AuthSettings {
  issuer: string;
  /** The accepted audiences; a token must name at least one. */
  audiences: string[];
  /** The claim with the audience: `aud`, or `client_id` for a provider whose access tokens have no `aud`. */
  audienceClaim: Variables['AUTH_AUDIENCE_CLAIM'];
  /** The URL of the key set; found by discovery from the issuer when undefined. */
  jwksUrl: string | undefined;
  clubs: ClubsClaim;
}

const readClubNames = (text: string) => readNames(text, (id) => (isUuid(id) ? id.toLowerCase() : undefined));
const readRoleNames = (text: string) => readNames(text, findRole);

/** Checks of variables that a JSON Schema cannot describe. */
export const patterns = {
  AUTH_AUDIENCE: (text: string) => text.split(',').every((item) => item !== '' && item.trim() === item),
  AUTH_CLUBS_CLAIM: isClaimName,
  AUTH_CLUBS_PATTERN: isClubsPattern,
  AUTH_CLUB_NAMES: (text: string) => readClubNames(text) !== undefined,
  AUTH_ROLE_NAMES: (text: string) => readRoleNames(text) !== undefined,
};

/** Reads the settings from checked variables. */
export function readAuthSettings(variables: Variables & { AUTH_ISSUER: string }): AuthSettings {
  const { AUTH_CLUBS_PATTERN: pattern } = variables;
  return {
    issuer: variables.AUTH_ISSUER,
    audiences: variables.AUTH_AUDIENCE.split(','),
    audienceClaim: variables.AUTH_AUDIENCE_CLAIM,
    jwksUrl: variables.AUTH_JWKS_URL,
    clubs: {
      name: variables.AUTH_CLUBS_CLAIM,
      json: variables.AUTH_CLUBS_JSON === 'on',
      pattern: pattern === undefined ? undefined : new ClubsPattern(pattern),
      clubNames: readClubNames(variables.AUTH_CLUB_NAMES ?? '') ?? new Map(),
      roleNames: readRoleNames(variables.AUTH_ROLE_NAMES ?? '') ?? new Map(),
    },
  };
}
