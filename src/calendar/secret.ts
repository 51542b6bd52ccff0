import { createHash, randomBytes } from 'node:crypto';

const SECRET_BYTES = 32;
/** 32 bytes as base64url without padding (RFC 4648, section 5). The last character has only four significant bits. */
const SECRET = /^[\w-]{42}[AEIMQUYcgkosw048]$/;

/** A new secret of a calendar link. */
export function createSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** Whether the text can be a secret. */
export function isSecret(text: string): boolean {
  return SECRET.test(text);
}

/**
 * What the database stores of a secret: the SHA-256 of its text, here in hexadecimal digits. A secret is random, so the hash
 * needs no salt.
 */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
