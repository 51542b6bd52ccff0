import type { Database } from '../../src/database/database.js';
import type { Caller } from '../../src/database/tenant-context.js';
import type { Role } from '../../src/roles.js';

/** A caller with a role in a club, as the plugins pass it to the database. */
export function callerOf(tenantId: string, role: Role = 'Admin', subject = 'anna'): Caller {
  return {
    tenantId,
    role,
    subject,
    displayName: subject,
    email: null,
    issuedAt: null,
    testMemberId: null,
  };
}

/** Waits until no transaction is running, for at most two minutes. */
export async function untilAtRest(database: Database): Promise<Database['load']> {
  return until(
    () => database.load,
    ({ inUse, queued }) => inUse + queued === 0,
  );
}

/** Looks again and again, for at most two minutes, and answers with what it saw last. */
export async function until<Seen>(
  look: () => Seen | Promise<Seen>,
  isEnough: (seen: Seen) => boolean,
): Promise<Seen> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const seen = await look();
    if (isEnough(seen) || Date.now() > deadline) {
      return seen;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
