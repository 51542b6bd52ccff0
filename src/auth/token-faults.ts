/** What is wrong with a token, by the code of the library that looked at it. */
const faults: Record<string, string> = {
  FAST_JWT_EXPIRED: 'it has expired',
  FAST_JWT_INACTIVE: 'its nbf is ahead',
  FAST_JWT_INVALID_SIGNATURE: 'its signature is not that of the key that it names',
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
export function faultOfToken({ code = '', message = '' }: { code?: string; message?: string }): string {
  const claim = /CLAIM/.test(code) ? /\b(\w+) claim\b/.exec(message)?.[1] : undefined;
  if (claim === undefined) {
    return faults[code] ?? 'it is no signed JWT';
  }
  return code === 'FAST_JWT_MISSING_REQUIRED_CLAIM'
    ? `it has no ${claim}`
    : (claimFaults[claim] ?? `its ${claim} is unfit`);
}
