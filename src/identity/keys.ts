import { createLocalJWKSet, createRemoteJWKSet, errors, exportSPKI, type JWTHeaderParameters } from 'jose';
import { Problem } from '../problems/problem.js';

/** Asymmetric algorithms only: with a shared secret, whoever can check a token could also make one. */
export const ALGORITHMS = [
  'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA',
] as const; // biome-ignore format: families side by side

const FETCH_TIMEOUT_MS = 2_000;
/** An unknown key id fetches the keys at most this often, so random key ids cause no storm. */
const COOLDOWN_MS = 30_000;
const MAX_AGE_MS = 10 * 60_000;

export interface KeySource {
  issuer: string;
  /** Where the keys are; by discovery from the issuer when undefined. */
  jwksUrl: string | undefined;
}

type FindKey = ReturnType<typeof createRemoteJWKSet>;

/**
 * The issuer's public keys, fetched when they are first needed and again when they age or a new one is named.
 *
 * A key that was had once keeps working while the issuer cannot be reached.
 */
export class IssuerKeys {
  readonly #source: KeySource;
  #finding: Promise<FindKey> | undefined;

  constructor(source: KeySource) {
    this.#source = source;
  }

  /**
   * The key that the header of a token names, as PEM.
   *
   * @throws Problem `invalid_token` when the issuer has no such key, `service_unavailable` when nobody can tell
   */
  async find(header: JWTHeaderParameters): Promise<string> {
    const wanted = { alg: header.alg, ...(header.kid === undefined ? {} : { kid: header.kid }) };
    let find: FindKey | undefined;
    try {
      find = await this.#jwks();
      return await exportSPKI(await find(wanted));
    } catch (error) {
      if (isAnswer(error)) {
        throw new Problem('invalid_token');
      }
      // The keys as they were last fetched; whether there is a newer one, nobody can tell.
      const last = find?.jwks();
      const known = last && (await createLocalJWKSet(last)(wanted).catch(() => undefined));
      if (known === undefined) {
        throw new Problem('service_unavailable', {
          detail:
            'The keys of the identity provider cannot be fetched right now. Try again after the time in Retry-After.',
        });
      }
      return exportSPKI(known);
    }
  }

  #jwks(): Promise<FindKey> {
    this.#finding ??= this.#locate()
      .then((url) =>
        createRemoteJWKSet(url, {
          timeoutDuration: FETCH_TIMEOUT_MS,
          cooldownDuration: COOLDOWN_MS,
          cacheMaxAge: MAX_AGE_MS,
        }),
      )
      .catch((error) => {
        this.#finding = undefined;
        throw error;
      });
    return this.#finding;
  }

  /** OpenID Connect Discovery 1.0, section 4: the issuer names its keys, and itself. */
  async #locate(): Promise<URL> {
    const { issuer, jwksUrl } = this.#source;
    if (jwksUrl !== undefined) {
      return new URL(jwksUrl);
    }
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS), redirect: 'error' });
    const document = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
    if (!response.ok || document.issuer !== issuer || typeof document.jwks_uri !== 'string') {
      throw new Error('The discovery document is not that of the issuer.');
    }
    return new URL(document.jwks_uri);
  }
}

/** Whether the issuer's keys were there and the token's is not among them, or the token asks for the impossible. */
function isAnswer(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported ||
    error instanceof errors.JOSEAlgNotAllowed
  );
}
