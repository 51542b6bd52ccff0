import type { Context } from './context.js';
import type { Database } from './database.js';
import { TenantNotFound, TestMemberNotFound, Unavailable, WrongResult } from './errors.js';
import type { Json } from './json.js';
import { DIRECTORY, NO_TENANT } from './pool.js';
import { type Query, sql } from './sql.js';
import type { StatementMode } from './statement.js';
import type { Transaction } from './transaction.js';

/** The user of a request, from the claims of a verified token. Each claim is an argument of app.enter. */
export interface User {
  /** The token's `sub`: the user's id at the identity provider. */
  subject: string;
  /** From `name`, else `preferred_username`; null when neither is valid. */
  displayName: string | null;
  email: string | null;
  /** The token's `iat` (RFC 3339), at the latest the time of the first request with it; null when it is missing. */
  issuedAt: string | null;
}

/** The caller and the club of a request: the tenant context that a statement or a transaction sets. */
export interface Caller extends User {
  tenantId: string;
  /** The caller's role in the club. */
  role: string;
  /** The member to act as in test set-ups; null otherwise. */
  testMemberId: string | null;
}

/** A transaction inside a club, with the id of the caller's row in app.members. */
export type TenantTransaction = Transaction<{ memberId: string }>;

/** The rows of a read or a call, and the member that sent it. */
export interface TenantResult<Row> {
  rows: Json<Row>[];
  memberId: string;
}

/** The caller has no member row yet, or the token is newer and has other values. */
class MemberOutdated extends Error {}

/**
 * Reads inside the caller's club, with one statement.
 *
 * @param operation its name
 * @throws TenantNotFound; TestMemberNotFound; what `Database.read` throws
 */
export function readInTenant<Row>(
  database: Database,
  caller: Caller,
  operation: string,
  query: Query<Row>,
): Promise<TenantResult<Row>> {
  return runInTenant('read', database, caller, operation, query);
}

/**
 * Calls one function that writes inside the caller's club, with one statement.
 *
 * @throws TenantNotFound; TestMemberNotFound; what `Database.call` throws
 */
export function callInTenant<Row>(
  database: Database,
  caller: Caller,
  operation: string,
  query: Query<Row>,
): Promise<TenantResult<Row>> {
  return runInTenant('call', database, caller, operation, query);
}

function runInTenant<Row>(
  mode: StatementMode,
  database: Database,
  caller: Caller,
  operation: string,
  query: Query<Row>,
): Promise<TenantResult<Row>> {
  return asMember(database, caller, async (context) => {
    const { context: accepted, rows } = await database[mode]({ operation, context, query });
    return { rows, ...accepted };
  });
}

/**
 * Runs work in a transaction inside the caller's club.
 *
 * @throws TenantNotFound; TestMemberNotFound; what `Database.transaction` throws
 */
export function writeInTenant<Result>(
  database: Database,
  caller: Caller,
  operation: string,
  work: (tx: TenantTransaction) => Promise<Result>,
): Promise<Result> {
  return asMember(database, caller, (context) =>
    database.transaction({ operation, mode: 'read write', context, work }),
  );
}

/**
 * Runs an operation with the context of the caller. When the member row is missing, or a newer token has other values, the
 * operation does nothing: a call writes the member, and the operation is sent again. So the row stays even if it fails.
 */
async function asMember<Result>(
  database: Database,
  caller: Caller,
  run: (context: Context<{ memberId: string }>) => Promise<Result>,
): Promise<Result> {
  try {
    return await run(memberContext(caller, false));
  } catch (error) {
    if (!(error instanceof MemberOutdated)) {
      throw error;
    }
  }
  const { displayName, email, issuedAt } = caller;
  try {
    await database.call({
      operation: 'syncMember',
      context: clubContext(caller),
      query: sql`select app.sync_member(${displayName}, ${email}, ${issuedAt})`,
    });
  } catch (error) {
    // Whether the row was written is unknown, but the operation was not sent.
    throw error instanceof Unavailable && error.committed === 'unknown'
      ? new Unavailable('The connection to the database was lost while the member was written.', 'no', {
          cause: error,
        })
      : error;
  }
  try {
    // Accepts an outdated row now: two tokens of the same second with different names would retry forever.
    return await run(memberContext(caller, true));
  } catch (error) {
    throw error instanceof MemberOutdated
      ? new Unavailable('The member was removed while the request ran.')
      : error;
  }
}

/** The context of a member: accepted if the row is current or, on request, outdated. */
export function memberContext(caller: Caller, acceptsOutdated: boolean): Context<{ memberId: string }> {
  return {
    tenant: caller.tenantId,
    sql: sql`entry.*, entry.club_exists and entry.member_id is not null
      and (entry.member_is_current or ${acceptsOutdated}) as accepted
    ${entryOf(caller)}`,
    parse: (row) => {
      requireClub(caller, row);
      if (row.accepted !== true) {
        throw new MemberOutdated('The member row is missing or older than the token.');
      }
      return { memberId: String(row.member_id) };
    },
  };
}

/** The context of the club alone, for the function that writes the member. */
function clubContext(caller: Caller): Context<void> {
  return {
    tenant: caller.tenantId,
    sql: sql`entry.*, entry.club_exists as accepted ${entryOf(caller)}`,
    parse: (row) => requireClub(caller, row),
  };
}

function entryOf(caller: Caller) {
  const { tenantId, subject, role, displayName, email, issuedAt, testMemberId } = caller;
  return sql`from app.enter(
      tenant_id => ${tenantId}, user_id => ${subject}, role => ${role},
      display_name => ${displayName}, email => ${email}, issued_at => ${issuedAt}, test_member_id => ${testMemberId}) as entry`;
}

function requireClub({ tenantId, testMemberId }: Caller, row: Record<string, unknown>): void {
  if (row.entered_tenant_id !== tenantId) {
    throw new WrongResult();
  }
  if (row.club_exists !== true) {
    throw new TenantNotFound('The club cannot be entered.');
  }
  if (row.member_id === null && testMemberId !== null) {
    throw new TestMemberNotFound('The club has no such member.');
  }
}

/** A caller outside of a single club: the subject of the token, and the clubs that it names. */
export interface DirectoryCaller extends Pick<User, 'subject'> {
  clubIds: string[];
}

/**
 * Reads outside of a single club: the query sees the clubs that the caller's token names, and the caller's memberships in them.
 *
 * @throws what `Database.read` throws
 */
export async function readDirectory<Row>(
  database: Database,
  caller: DirectoryCaller,
  operation: string,
  query: Query<Row>,
): Promise<Json<Row>[]> {
  const { rows } = await database.read({ operation, context: directoryContext(caller), query });
  return rows;
}

/** The context of a caller outside of a single club. */
export function directoryContext({ subject, clubIds }: DirectoryCaller): Context<void> {
  const named = `{${clubIds.join(',')}}`;
  return {
    tenant: DIRECTORY,
    sql: sql`entered, entered is not null as accepted from app.enter_directory(${named}::uuid[], ${subject}) as entered`,
    parse: ({ entered }) => {
      if (entered !== named) {
        throw new WrongResult();
      }
    },
  };
}

/** The context of work of the service itself: it sets nothing. */
export const OUTSIDE_OF_CLUBS: Context<void> = {
  tenant: NO_TENANT,
  sql: sql`true as accepted`,
  parse: () => {},
};

/** Reads for a calendar of a club: app.read_calendar sets the context itself. @throws what `Database.read` throws */
export async function readForCalendar<Row>(
  database: Database,
  operation: string,
  clubId: string,
  query: Query<Row>,
): Promise<Json<Row>[]> {
  const context = { ...OUTSIDE_OF_CLUBS, tenant: clubId.toLowerCase(), isAnonymous: true };
  const { rows } = await database.read({ operation, context, query });
  return rows;
}

/** Reads rows for the service itself, outside of any club. @throws what `Database.read` throws */
export async function readOwn<Row>(database: Database, operation: string, query: Query<Row>): Promise<Row[]> {
  const { rows } = await database.read({ operation, context: OUTSIDE_OF_CLUBS, query });
  return rows.map((row) => row.parse());
}
