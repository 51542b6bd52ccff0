import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  exportSPKI,
  type JWK,
  type JWTHeaderParameters,
} from 'jose';
import { invalidToken } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';
import { serviceUnavailable } from '../errors/server.js';
import { FetchFailed, fetchJson, reasonOfFetch } from '../http/fetch-json.js';

/** Asymmetric algorithms only: a shared secret that verifies tokens can also sign them. */
export const ALGORITHMS = [
  'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA',
] as const; // biome-ignore format: families side by side

/** A document has at most 512 KiB: room for hundreds of keys. */
const FETCH_LIMITS = { timeoutMs: 2_000, maxBytes: 512 * 1024 };
/** While known keys can be used, the issuer is asked at most this often, so that random key ids cause few requests to it. */
const COOLDOWN_MS = 30_000;
/** While no key is known, the issuer is asked at most this often: the time that `Retry-After` promises, in milliseconds. */
const RETRY_PAUSE_MS = 1_000;
/** Keys that are older are refreshed in the background. */
const MAX_AGE_MS = 10 * 60_000;
/**
 * Keys that are older than this are not used. With the minute for which a verified token is cached, a withdrawn key is
 * accepted for an hour at most.
 */
const MAX_STALE_MS = 59 * 60_000;
/**
 * Ids are meant to be unique in a set (RFC 7517, section 4.5). Of those that are not, this many keys are tried, because each invalid
 * token costs a verification by each of them.
 */
const KEYS_PER_ID = 4;

export interface KeySource {
  issuer: string;
  /** The URL of the key set; found by discovery from the issuer when undefined. */
  jwksUrl: string | undefined;
}

/** The members of a token's header that select the key. */
type KeySelector = Pick<JWTHeaderParameters, 'alg' | 'kid'>;

/**
 * The issuer's public keys. They are fetched at the start of the service, when they are old, and when a token names a key that
 * is not known.
 *
 * While the issuer is slow or unreachable, the keys that are known are used for an hour, and no request waits for it.
 */
export class IssuerKeys {
  readonly #source: KeySource;
  readonly #onFailure: (reason: string) => void;
  #known: { find: ReturnType<typeof createLocalJWKSet>; at: number } | undefined;
  #hasSharedIds = false;
  #fetching: Promise<void> | undefined;
  #attemptedAt = Number.NEGATIVE_INFINITY;

  /** @param onFailure is called with the reason when the keys cannot be fetched */
  constructor(source: KeySource, onFailure: (reason: string) => void) {
    this.#source = source;
    this.#onFailure = onFailure;
  }

  /** Fetches the keys before a token needs them. A failure is reported; the first token tries again. */
  prefetch(): Promise<void> {
    return this.#refresh();
  }

  /**
   * The key that the header of a token names, as PEM.
   *
   * @throws Problem `invalid_token` when the issuer has no such key, as far as is known; `service_unavailable` when
   *   the keys are not known or older than an hour, and cannot be fetched
   */
  async find({ alg, kid }: JWTHeaderParameters): Promise<string> {
    const selector = kid === undefined ? { alg } : { alg, kid };
    const [key] = await this.#lookUp(selector);
    const ageMs = this.#ageMs();
    if (key !== undefined && ageMs < MAX_AGE_MS) {
      return key;
    }
    const refreshed = this.#refresh();
    if (key !== undefined && ageMs < MAX_STALE_MS) {
      return key;
    }
    await refreshed;
    if (this.#ageMs() >= MAX_STALE_MS) {
      throw new Problem(serviceUnavailable, {
        detail:
          'The keys of the identity provider cannot be fetched right now. Try again after the seconds in Retry-After.',
      });
    }
    const [found] = await this.#lookUp(selector);
    if (found === undefined) {
      throw new Problem(invalidToken, {}, { reason: 'no key of the issuer matches its header' });
    }
    return found;
  }

  /** Further keys with the same id as that of `find`, as PEM. */
  async others({ alg, kid }: JWTHeaderParameters): Promise<string[]> {
    return this.#hasSharedIds && kid !== undefined ? (await this.#lookUp({ alg, kid })).slice(1) : [];
  }

  /** The keys that may have made a signature; several only when they share an id. */
  async #lookUp(selector: KeySelector): Promise<string[]> {
    try {
      return this.#known === undefined ? [] : [await pemOf(await this.#known.find(selector))];
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys) || selector.kid === undefined) {
        return [];
      }
      const found: string[] = [];
      for await (const key of error) {
        found.push(await pemOf(key));
        if (found.length === KEYS_PER_ID) {
          break;
        }
      }
      return found;
    }
  }

  #ageMs(): number {
    return this.#known === undefined ? Number.POSITIVE_INFINITY : elapsedMs(this.#known.at);
  }

  /** Fetches the keys, unless they were fetched or asked for a moment ago. A failure leaves the known ones. */
  #refresh(): Promise<void> {
    const pauseMs = this.#ageMs() < MAX_STALE_MS ? COOLDOWN_MS : RETRY_PAUSE_MS;
    if (elapsedMs(this.#attemptedAt) < pauseMs) {
      return this.#fetching ?? Promise.resolve();
    }
    this.#fetching ??= this.#fetch()
      .catch((error: Error) => this.#onFailure(reasonOfFetch(error)))
      .finally(() => {
        this.#fetching = undefined;
      });
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    this.#attemptedAt = Date.now();
    const keys = usableKeys(await fetchJson(await this.#locate(), FETCH_LIMITS));
    this.#known = { find: createLocalJWKSet({ keys }), at: Date.now() };
    this.#hasSharedIds = new Set(keys.map(({ kid }) => kid)).size < keys.length;
  }

  /** The URL of the key set; from the discovery document (OpenID Connect Discovery 1.0, section 4), which must name the issuer. */
  async #locate(): Promise<string> {
    const { issuer, jwksUrl } = this.#source;
    if (jwksUrl !== undefined) {
      return jwksUrl;
    }
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const document = (await fetchJson(url, FETCH_LIMITS)) as { issuer?: unknown; jwks_uri?: unknown };
    if (document.issuer !== issuer || typeof document.jwks_uri !== 'string') {
      throw new FetchFailed('The discovery document is of another issuer.');
    }
    if (issuer.startsWith('https:') && !document.jwks_uri.startsWith('https:')) {
      throw new FetchFailed('The jwks_uri of the discovery document is not https, but the issuer is.');
    }
    return document.jwks_uri;
  }
}

/** A key as PEM. An export takes longer than the verification of a signature, and jose returns the same object for a key. */
async function pemOf(key: CryptoKey): Promise<string> {
  const pem = pems.get(key) ?? (await exportSPKI(key));
  pems.set(key, pem);
  return pem;
}
const pems = new WeakMap<CryptoKey, string>();

const KEY_TYPES = ['RSA', 'EC', 'OKP'];
/** RFC 7518, section 3.3: a key of 2,048 bits or larger. */
const MIN_RSA_BYTES = 256;

/**
 * The keys of a set that may verify a signature. Others are ignored (RFC 7517, section 5).
 *
 * @throws FetchFailed if there is none; the known keys are kept then
 */
function usableKeys(document: unknown): JWK[] {
  const { keys } = (document ?? {}) as { keys?: unknown };
  const found = (Array.isArray(keys) ? keys : []).filter((key): key is JWK => {
    const { kty, n, use = 'sig' } = (key ?? {}) as JWK;
    const isLarge = kty !== 'RSA' || Buffer.from(String(n), 'base64url').length >= MIN_RSA_BYTES;
    return KEY_TYPES.includes(String(kty)) && use === 'sig' && isLarge;
  });
  if (found.length === 0) {
    throw new FetchFailed('The response contains no usable key.');
  }
  return found;
}

/**
 * Milliseconds since a time, by the wall clock, which continues while the machine sleeps. After the clock was set back the
 * time is in the future, and its distance counts: otherwise keys would stay fresh until the clock reaches that time.
 */
function elapsedMs(since: number): number {
  return Math.abs(Date.now() - since);
}
