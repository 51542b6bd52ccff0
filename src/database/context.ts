import type { Identity } from '../identity/identity.js';
import type { Role } from '../identity/roles.js';
import type { Database } from './database.js';
import type { Entry } from './entry.js';
import { NoEntry } from './failures.js';
import { type Statement, sql } from './sql.js';
import type { Mode, Transaction } from './transaction.js';

/** Who is asking, and for which club: what a transaction enters with. */
export interface Caller {
  identity: Identity;
  tenantId: string;
  role: Role;
  /** Stands in for the member in test set-ups. */
  testMemberId: string | null;
  /** The caller's row in app.members; null until a transaction has entered the club. */
  memberId: string | null;
}

/** A transaction inside a club. */
export interface ClubTransaction extends Transaction {
  /** The caller's row in app.members. Known once the first statement has been answered. */
  readonly memberId: string;
}

interface Entered {
  enteredTenantId: string;
  clubExists: boolean;
  memberId: string | null;
  memberIsCurrent: boolean | null;
}

/** The caller has no member row yet, or the token says something new about them. */
class MemberOutdated extends Error {}

/**
 * Runs work inside the caller's club.
 *
 * The entry only reads, so a GET is READ ONLY from beginning to end. When the member is missing, or a newer
 * token brings other values, a short transaction of its own writes the member and commits, and the work begins
 * anew: the member stays even when the work is refused.
 *
 * @throws NoEntry when the club does not exist, or the member of a test set-up does not
 * @throws what `Database.transaction` throws
 */
export async function inClub<Result>(
  database: Database,
  caller: Caller,
  mode: Mode,
  work: (tx: ClubTransaction) => Promise<Result>,
): Promise<Result> {
  try {
    return await enter(database, caller, mode, work, { requireCurrent: true });
  } catch (error) {
    if (!(error instanceof MemberOutdated)) {
      throw error;
    }
  }
  await syncMember(database, caller);
  return enter(database, caller, mode, work, { requireCurrent: false });
}

/** Runs work that belongs to no single club: it sees the clubs that the caller's token names. */
export function inDirectory<Result>(
  database: Database,
  clubIds: string[],
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const named = `{${clubIds.join(',')}}`;
  const entry: Entry<{ entered: string }> = {
    statement: sql`select app.enter_directory(${named}::uuid[]) as entered`,
    group: 'directory',
    isEcho: ({ entered }) => entered === named,
    accept: () => {},
  };
  return database.transaction('read once', entry, work);
}

function enter<Result>(
  database: Database,
  caller: Caller,
  mode: Mode,
  work: (tx: ClubTransaction) => Promise<Result>,
  { requireCurrent }: { requireCurrent: boolean },
): Promise<Result> {
  const entry: Entry<Entered> = {
    statement: entryStatement(caller),
    group: caller.tenantId,
    isEcho: ({ enteredTenantId }) => enteredTenantId === caller.tenantId,
    accept: (entered) => {
      if (!entered.clubExists || (entered.memberId === null && caller.testMemberId !== null)) {
        throw new NoEntry('The club cannot be entered.');
      }
      if (entered.memberId === null || (requireCurrent && !entered.memberIsCurrent)) {
        throw new MemberOutdated();
      }
      caller.memberId = entered.memberId;
    },
  };
  return database.transaction(mode, entry, (tx) => work(new InClub(tx, caller)));
}

/**
 * A class, and no literal with a getter in it: for each of these V8 makes a shape of its own, which lives until the next
 * large garbage collection, and with it everything that the getter closes over: the rows of every page.
 */
class InClub implements ClubTransaction {
  readonly #tx: Transaction;
  readonly #caller: Caller;

  constructor(tx: Transaction, caller: Caller) {
    this.#tx = tx;
    this.#caller = caller;
  }

  query<Row>(statement: Statement): Promise<Row[]> {
    return this.#tx.query(statement);
  }

  queryAll<Rows extends unknown[][]>(...statements: { [Index in keyof Rows]: Statement }): Promise<Rows> {
    return this.#tx.queryAll<Rows>(...statements);
  }

  get memberId(): string {
    const { memberId } = this.#caller;
    if (memberId === null) {
      throw new Error('The member is known once the first statement has been answered.');
    }
    return memberId;
  }
}

async function syncMember(database: Database, caller: Caller): Promise<void> {
  const { displayName, email, issuedAt } = caller.identity;
  const entry: Entry<Entered> = {
    statement: entryStatement(caller),
    group: caller.tenantId,
    isEcho: ({ enteredTenantId }) => enteredTenantId === caller.tenantId,
    accept: () => {},
  };
  await database.transaction('read write', entry, (tx) =>
    tx.query(sql`select app.sync_member(${displayName}, ${email}, ${issuedAt})`),
  );
}

function entryStatement({ identity, tenantId, role, testMemberId }: Caller) {
  const { subject, displayName, email, issuedAt } = identity;
  return sql`
    select * from app.enter(${tenantId}, ${subject}, ${role}, ${displayName}, ${email}, ${issuedAt}, ${testMemberId})`;
}
