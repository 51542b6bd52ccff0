import { keepToken, type Token, type TokenKeeper } from './token.js';

/** The limits for retries. */
export interface RetryLimits {
  /** The maximum number of attempts; 1 for no retry, Infinity for no limit but `withinMs`. */
  attempts?: number | undefined;
  /** No new attempt starts later than this many milliseconds after the first. */
  withinMs?: number | undefined;
}

export interface ClientOptions {
  /** The URL of the service, such as `https://clubs.example.org`. */
  baseUrl: string | URL;
  token: Token;
  /** The club of the methods; `client.club(id)` returns a client for another club. */
  clubId?: string | undefined;
  retry?: RetryLimits | undefined;
  /** The limit for one attempt, in milliseconds; Infinity for none. */
  timeoutMs?: number | undefined;
  /** Replaces the platform's fetch. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Replaces the wait between two attempts, and between two requests of `events.follow`. */
  wait?: Wait | undefined;
}

/** Waits; rejects with the reason of the signal when it is aborted. */
export type Wait = (ms: number, signal: AbortSignal | undefined) => Promise<void>;

/** The settings of all requests of a client. */
export interface Connection {
  /** The base URL without a trailing slash. */
  base: string;
  token: TokenKeeper;
  attempts: number;
  withinMs: number;
  timeoutMs: number;
  fetch: typeof globalThis.fetch;
  wait: Wait;
}

const ATTEMPTS = 3;
/** Longer than the minute that a rate limit of the service takes at most. */
const WITHIN_MS = 70_000;
const TIMEOUT_MS = 10_000;
/** The longest time of a timer, 24 days; one with a longer time, such as Infinity, fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Reads the options of a client.
 *
 * @throws TypeError when baseUrl is not a URL of HTTP, or contains a user or a password
 */
export function connect({
  baseUrl,
  token,
  retry = {},
  timeoutMs = TIMEOUT_MS,
  ...own
}: ClientOptions): Connection {
  const url = new URL(baseUrl);
  if (!/^https?:$/.test(url.protocol)) {
    // In localhost:3000 the host would be the protocol.
    throw new TypeError(`baseUrl must begin with http:// or https://, unlike ${url.href}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('baseUrl contains a user or a password, which browsers do not send. Remove them.');
  }
  return {
    // Without trailing slashes.
    base: /^.*[^/]/.exec(`${url.origin}${url.pathname}`)?.[0] ?? '',
    token: keepToken(token),
    attempts: retry.attempts ?? ATTEMPTS,
    withinMs: retry.withinMs ?? WITHIN_MS,
    timeoutMs: Math.min(timeoutMs, LONGEST_TIMER_MS),
    // A wrapper, because a browser's fetch throws when it is called as a method of another object.
    fetch: own.fetch ?? ((input, init) => fetch(input, init)),
    wait: own.wait ?? wait,
  };
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const end = () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
    signal?.addEventListener('abort', stop, { once: true });
  });
}
