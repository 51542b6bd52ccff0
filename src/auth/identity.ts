import type { User } from '../database/tenant-context.js';
import type { Role } from '../roles.js';
import { cutText, EMAIL, isCleanText, isVisible } from '../validation/text.js';
import { type Claims, type ClubsClaim, readClubRoles } from './club-roles.js';

/** The user of a verified token, and their roles. */
export interface Identity extends User {
  /** The caller's role in each club that the token names. */
  roles: Map<string, Role>;
}

/** An identity, and why clubs of its token are ignored. */
export interface ReadIdentity extends Identity {
  /** The reason why some or all of the clubs claim gives no role; undefined when all of it does. */
  clubsReason: string | undefined;
}

const SUBJECT_LENGTH = 255;
const NAME_LENGTH = 200;
const EMAIL_LENGTH = 320;

/**
 * Reads the claims of a verified token, whose `iat` is a time. Invalid names, addresses and clubs are ignored.
 *
 * @returns null when `sub` is missing or invalid
 */
export function readIdentity(claims: Claims, clubs: ClubsClaim): ReadIdentity | null {
  const { sub, iat } = claims;
  if (
    typeof sub !== 'string' ||
    sub === '' ||
    [...sub].length > SUBJECT_LENGTH ||
    // The replacement character: bytes that are not UTF-8 decode to it, so two subjects could become equal.
    sub.includes('\uFFFD') ||
    !isCleanText(sub, 'line')
  ) {
    return null;
  }
  const { roles, reason } = readClubRoles(claims, clubs);
  return {
    subject: sub,
    displayName: readName(claims.name) ?? readName(claims.preferred_username),
    email: readEmail(claims.email),
    // A token from the future would be newer than every later one.
    issuedAt:
      iat === undefined ? null : new Date(Math.min(Number(iat), currentSecond()) * 1_000).toISOString(),
    roles,
    clubsReason: reason,
  };
}

/** The current time in whole seconds, as `iat` has it. */
function currentSecond(): number {
  return Math.floor(Date.now() / 1_000);
}

function readName(claim: unknown): string | null {
  if (typeof claim !== 'string' || !isCleanText(claim, 'line')) {
    return null;
  }
  const name = cutText(claim.trim(), NAME_LENGTH).trim();
  return isVisible(name) ? name : null;
}

function readEmail(claim: unknown): string | null {
  if (typeof claim !== 'string' || !isCleanText(claim, 'line')) {
    return null;
  }
  const email = claim.trim().toLowerCase();
  // The part before the @ is the name of a member whose token has no other.
  const isAddress =
    email.length <= EMAIL_LENGTH && EMAIL.test(email) && isVisible(email.split('@', 1)[0] ?? '');
  return isAddress ? email : null;
}
