/**
 * An access token, or what gets one: asked before the first request and once more when the service refuses the
 * token that it gave. Between the two the client keeps it.
 */
export type Token = string | (() => string | Promise<string>);

/** Holds the token of a client. */
export interface TokenKeeper {
  get(): Promise<string>;
  /** Forgets a token that was refused; false when there is no way to get another one. */
  forget(refused: string): boolean;
}

/** What a header can hold without meaning something else. */
const SENDABLE = /^[\x21-\x7e]+$/;

/** Keeps a token for all requests of a client: many that need one at the same moment ask once. */
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
      // Another request may have been refused with the same token, and there is a new one by now.
      if (known === refused) {
        known = undefined;
        held = undefined;
      }
      return true;
    },
  };
}

/** The platform's own error about a bad header would hold the token. */
function checked(token: string): string {
  if (typeof token !== 'string' || !SENDABLE.test(token)) {
    throw new TypeError('The token is empty or has a character that no token has, such as a line break.');
  }
  return token;
}
