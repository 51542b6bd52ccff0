/** Databases without one rule. A model that agrees with one of them does not test that rule. */
import type { TestDatabase } from '../../setup/database.js';

export interface Mutant {
  name: string;
  /** SQL that weakens the database. */
  sql?: string;
  /** A function, and the replacement in its definition. */
  routine?: string;
  replace?: [from: string, to: string][];
  /** Where it is tested besides raw SQL: many database rules only matter when the service's own check is missing. */
  also?: ('http' | 'rush')[];
}

/** Applies the mutant, if any, to a temporary database. */
export async function weaken(db: TestDatabase, mutant: Mutant | undefined): Promise<void> {
  const { sql, routine, replace = [] } = mutant ?? {};
  if (sql !== undefined) {
    await db.queryAsAdmin(sql);
  }
  if (routine !== undefined) {
    const [row] = await db.queryAsAdmin<{ text: string }>(
      'select pg_get_functiondef($1::regprocedure) as text',
      [routine],
    );
    let text = row?.text ?? '';
    for (const [from, to] of replace) {
      if (!text.includes(from)) {
        throw new Error(`${routine} does not hold “${from}” any more: the mutant is none.`);
      }
      text = text.replaceAll(from, to);
    }
    await db.queryAsAdmin(text);
  }
}
