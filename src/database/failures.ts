import postgres from 'postgres';

/**
 * The database could not do what was asked, and it is nobody's mistake: lost, restarting, crowded, too slow.
 */
export class Unavailable extends Error {
  override name = 'Unavailable';

  constructor(
    message: string,
    /** Whether a write may have been kept: nobody knows when COMMIT was sent and its answer never came. */
    readonly kept: 'nothing' | 'unknown' = 'nothing',
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * More is asked for than can be done in time. One for everybody: it says the same to all, and in an overload there are
 * thousands of them a second.
 */
export const OVERLOADED = new Unavailable('Too many requests are waiting for the database.');

/** There is no such club to enter, or no such member in it to act as. */
export class NoEntry extends Error {
  override name = 'NoEntry';
}

/** The login could see past the policies, or become somebody who can; the service refuses to work as it. */
export class UnsafeRole extends Error {
  override name = 'UnsafeRole';
}

/**
 * Whether the server itself said that this one statement failed, and nothing else is in doubt.
 *
 * FATAL and PANIC end the connection even when their code sounds harmless, so only ERROR counts.
 */
export function isStatementError(error: unknown): error is postgres.PostgresError {
  return error instanceof postgres.PostgresError && error.severity === 'ERROR';
}
