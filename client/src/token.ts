/**
 * An access token, or a function that gets one. The client calls it before the first request, and again when the service
 * rejects the token; otherwise it uses the same token. `timeoutMs` does not limit the function, because it may have to
 * wait for a login; `signal` ends the wait of a call.
 */
export type Token = string | (() => string | Promise<string>);

/** Holds the token of a client. */
export interface TokenKeeper {
  /** Rejects with the reason of the signal when it is aborted; other callers still get the token. */
  get(signal: AbortSignal | undefined): Promise<string>;
  /** Drops a rejected token; returns false when another one cannot be requested. */
  forget(refused: string): boolean;
}

/** The characters that a token may have in a header. */
const SENDABLE = /^[\x21-\x7e]+$/;

/** Keeps a token for all requests of a client; concurrent requests share one call of the function. */
export function keepToken(token: Token): TokenKeeper {
  if (typeof token === 'string') {
    return { get: async () => checked(token), forget: () => false };
  }
  let held: Promise<string> | undefined;
  let known: string | undefined;
  const request = async () => {
    known = checked(await token());
    return known;
  };
  return {
    get: async (signal) => {
      signal?.throwIfAborted();
      held ??= request().catch((error) => {
        held = undefined;
        throw error;
      });
      return untilAborted(held, signal);
    },
    forget: (refused) => {
      // After another request was rejected with this token, there can be a new one already: keep that.
      if (known === refused) {
        known = undefined;
        held = undefined;
      }
      return true;
    },
  };
}

function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal?.reason);
    signal?.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal?.removeEventListener('abort', stop));
  });
}

/** Checks a token, because the platform's error about an invalid header would contain it. */
function checked(token: string): string {
  if (typeof token !== 'string' || !SENDABLE.test(token)) {
    throw new TypeError(
      'The token is empty or has a character that a header does not allow, such as a line break.',
    );
  }
  return token;
}
