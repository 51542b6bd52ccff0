import type { Database } from './database.js';
import { TenantNotFound, TestMemberNotFound, Unavailable } from './errors.js';
import { type LeaseKind, NO_TENANT } from './pool.js';
import type { Answer, Entry } from './read.js';
import { type Query, sql } from './sql.js';
import type { Transaction } from './transaction.js';

/** The caller and the club of a request: the tenant context that a read or a transaction sets. */
export interface Caller {
  tenantId: string;
  role: string;
  /** The token's `sub`. */
  subject: string;
  displayName: string | null;
  email: string | null;
  /** The token's `iat`, as RFC 3339. */
  issuedAt: string | null;
  /** The member to act as in test set-ups; null otherwise. */
  testMemberId: string | null;
}

/** A transaction inside a club, with the id of the caller's row in app.members. */
export type TenantTransaction = Transaction<{ memberId: string }>;

/** The rows of a read and the member that read them. */
export interface TenantRead<Row> {
  rows: Row[];
  memberId: string;
}

interface TenantContext {
  enteredTenantId: string;
  clubExists: boolean;
  memberId: string | null;
  memberIsCurrent: boolean | null;
}

/** The caller has no member row yet, or the token is newer and has other values. */
class MemberOutdated extends Error {}

/**
 * Reads inside the caller's club, with one statement.
 *
 * When the member row is missing, or a newer token has other values, the statement reads nothing: a short transaction
 * writes the member and commits, and the read is sent again.
 *
 * @param name the name of the operation
 * @throws TenantNotFound; TestMemberNotFound; what `Database.read` throws
 */
export async function readInTenant<Row>(
  database: Database,
  caller: Caller,
  name: string,
  lease: LeaseKind,
  query: Query<Row>,
): Promise<TenantRead<Row>> {
  const attempt = async (acceptsOutdated: boolean) => {
    const answer = await database.read(tenantEntry(caller), query, {
      operation: name,
      condition: sql`tenant_context."clubExists"
    and (tenant_context."memberIsCurrent" or ${acceptsOutdated} and tenant_context."memberId" is not null)`,
      lease,
    });
    requireClub(caller, answer.context);
    return answer;
  };
  let { context, rows }: Answer<TenantContext, Row> = await attempt(false);
  if (rows === undefined) {
    await syncMember(database, caller);
    // Accepts an outdated row now: two tokens of the same second with different names would retry forever.
    ({ context, rows } = await attempt(true));
  }
  if (rows === undefined || context.memberId === null) {
    throw new Unavailable('The member was removed while the request ran.');
  }
  return { rows, memberId: context.memberId };
}

/**
 * Runs work in a transaction inside the caller's club. A missing or outdated member row is written first, in a separate
 * transaction, so the row stays even when the work fails.
 *
 * @throws TenantNotFound; TestMemberNotFound; what `Database.transaction` throws
 */
export async function writeInTenant<Result>(
  database: Database,
  caller: Caller,
  name: string,
  work: (tx: TenantTransaction) => Promise<Result>,
): Promise<Result> {
  const attempt = (acceptsOutdated: boolean) => {
    const accept = (context: TenantContext) => {
      requireClub(caller, context);
      const { memberId, memberIsCurrent } = context;
      if (memberId === null || !(memberIsCurrent || acceptsOutdated)) {
        throw new MemberOutdated('The member row is missing or older than the token.');
      }
      return { memberId };
    };
    return database.transaction('read write', name, tenantEntry(caller), accept, work);
  };
  try {
    return await attempt(false);
  } catch (error) {
    if (!(error instanceof MemberOutdated)) {
      throw error;
    }
  }
  await syncMember(database, caller);
  try {
    return await attempt(true);
  } catch (error) {
    throw error instanceof MemberOutdated
      ? new Unavailable('The member was removed while the request ran.')
      : error;
  }
}

/**
 * Reads outside of a single club: the query sees the clubs that the caller's token names.
 *
 * @throws what `Database.read` throws
 */
export async function readDirectory<Row>(
  database: Database,
  clubIds: string[],
  name: string,
  query: Query<Row>,
): Promise<Row[]> {
  const named = `{${clubIds.join(',')}}`;
  const entry: Entry<{ entered: string }> = {
    tenant: 'directory',
    columns: sql`app.enter_directory(${named}::uuid[]) as entered`,
    verify: ({ entered }) => entered === named,
  };
  const { rows } = await database.read(entry, query, {
    operation: name,
    condition: sql`tenant_context.entered is not null`,
    lease: 'shared',
  });
  return rows ?? [];
}

/** The entry for work of the service itself: it sets no context. */
export const OUTSIDE_OF_CLUBS: Entry<object> = {
  tenant: NO_TENANT,
  columns: sql`true as entered`,
  verify: () => true,
};

/**
 * Reads for the service itself, outside of any club.
 *
 * @throws what `Database.read` throws
 */
export async function readOwn<Row>(database: Database, name: string, query: Query<Row>): Promise<Row[]> {
  const { rows } = await database.read(OUTSIDE_OF_CLUBS, query, {
    operation: name,
    condition: sql`true`,
    lease: 'exclusive',
  });
  return rows ?? [];
}

function tenantEntry(caller: Caller): Entry<TenantContext> {
  const { tenantId, subject, role, displayName, email, issuedAt, testMemberId } = caller;
  return {
    tenant: tenantId,
    columns: sql`entry.entered_tenant_id as "enteredTenantId", entry.club_exists as "clubExists",
    entry.member_id as "memberId", entry.member_is_current as "memberIsCurrent"
  from app.enter(${tenantId}, ${subject}, ${role}, ${displayName}, ${email}, ${issuedAt}, ${testMemberId}) as entry`,
    verify: ({ enteredTenantId }) => enteredTenantId === tenantId,
  };
}

function requireClub({ testMemberId }: Caller, { clubExists, memberId }: TenantContext): void {
  if (!clubExists) {
    throw new TenantNotFound('The club cannot be entered.');
  }
  if (memberId === null && testMemberId !== null) {
    throw new TestMemberNotFound('The club has no such member.');
  }
}

async function syncMember(database: Database, caller: Caller): Promise<void> {
  const { displayName, email, issuedAt } = caller;
  await database.transaction(
    'read write',
    'syncMember',
    tenantEntry(caller),
    (context) => requireClub(caller, context),
    (tx) => tx.query(sql`select app.sync_member(${displayName}, ${email}, ${issuedAt})`),
  );
}
