import { keepToken, type Token, type TokenKeeper } from './token.js';

/** How often, and for how long, a request is tried. */
export interface Patience {
  /** How often a request is sent at most. 1 is never again. */
  attempts?: number;
  /** No new attempt begins later than this after the first. */
  withinMs?: number;
}

export interface ClientOptions {
  /** Where the service is, such as `https://clubs.example.org`. */
  baseUrl: string | URL;
  token: Token;
  /** The club that the methods are about; `client.club(id)` leads to another one. */
  clubId?: string;
  retry?: Patience;
  /** How long one attempt may take. */
  timeoutMs?: number;
  /** Another fetch than the platform's. */
  fetch?: typeof globalThis.fetch;
  /** Another way to wait between two attempts. */
  wait?: Wait;
}

/** Waits; rejected with the reason of the signal as soon as there is one. */
export type Wait = (ms: number, signal: AbortSignal | undefined) => Promise<void>;

/** What all requests of a client have in common. */
export interface Connection {
  /** Without a slash at its end. */
  base: string;
  token: TokenKeeper;
  attempts: number;
  withinMs: number;
  timeoutMs: number;
  fetch: typeof globalThis.fetch;
  wait: Wait;
}

const ATTEMPTS = 3;
const WITHIN_MS = 30_000;
const TIMEOUT_MS = 10_000;

/**
 * Reads the options of a client.
 *
 * @throws TypeError when baseUrl is no address, or has a password in it
 */
export function connect({
  baseUrl,
  token,
  retry = {},
  timeoutMs = TIMEOUT_MS,
  ...own
}: ClientOptions): Connection {
  const url = new URL(baseUrl);
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('baseUrl has a user or a password in it: no browser sends such a request.');
  }
  return {
    // Without slashes at its end.
    base: /^.*[^/]/.exec(`${url.origin}${url.pathname}`)?.[0] ?? '',
    token: keepToken(token),
    attempts: retry.attempts ?? ATTEMPTS,
    withinMs: retry.withinMs ?? WITHIN_MS,
    timeoutMs,
    // Called by its own name: a browser's fetch refuses to be a method of something else.
    fetch: own.fetch ?? ((input, init) => fetch(input, init)),
    wait: own.wait ?? wait,
  };
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
