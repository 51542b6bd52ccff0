import type { TestDatabase } from './database.js';

/** An event as it is stored. */
export interface StoredEvent {
  sequence: number | null;
  type: string;
  subject_id: string;
  subject_title: string | null;
  actor_id: string | null;
  member_id: string | null;
  changes: Record<string, { from: unknown; to: unknown }>;
  fields: string[];
}

/** The events of a club in their order, after a number, read as administrator. */
export async function eventsOf(db: TestDatabase, clubId: string, after = 0): Promise<StoredEvent[]> {
  return db.queryAsAdmin<StoredEvent & Record<string, unknown>>(
    `select sequence::int, type, subject_id, subject_title, actor_id, member_id, changes, fields
     from app.events where tenant_id = $1 and (sequence > $2 or sequence is null) order by sequence`,
    [clubId, after],
  );
}

/** The number of the last event of a club. */
export async function lastSequence(db: TestDatabase, clubId: string): Promise<number> {
  const [row] = await db.queryAsAdmin<{ last: number }>(
    'select coalesce(max(sequence), 0)::int as last from app.events where tenant_id = $1',
    [clubId],
  );
  return row?.last ?? 0;
}
