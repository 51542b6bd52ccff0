/**
 * An access token, or a function that gets one. The client calls it before the first request, and again when the service
 * rejects the token; otherwise it uses the same token.
 */
export type Token = string | (() => string | Promise<string>);

/** Holds the token of a client. */
export interface TokenKeeper {
  get(): Promise<string>;
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
  const ask = async () => {
    try {
      known = checked(await token());
      return known;
    } catch (error) {
      held = undefined;
      throw error;
    }
  };
  return {
    get: () => {
      held ??= ask();
      return held;
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

/** Checks a token, because the platform's error about an invalid header would contain it. */
function checked(token: string): string {
  if (typeof token !== 'string' || !SENDABLE.test(token)) {
    throw new TypeError(
      'The token is empty or has a character that a header does not allow, such as a line break.',
    );
  }
  return token;
}
