import pg from 'pg';

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
 * A session lets nothing else out: what the server hung up after is Unavailable.
 */
export function isStatementError(error: unknown): error is pg.DatabaseError & { code: string } {
  return error instanceof pg.DatabaseError;
}
