import { sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';

/** An answer that was given to a request that made something. */
export interface Answer {
  status: number;
  location: string;
  etag: string | null;
  /** As it was sent. */
  body: string;
}

/**
 * Claims a key of the caller's: undefined when it is theirs now, and the answer when the request was done before.
 * Waits for a request that bears the same key.
 *
 * @param request the SHA-256 of the request, in hexadecimal digits
 * @throws pg.DatabaseError ID001 when the key belongs to another request, 55P03 when the wait ran out
 */
export async function claimKey(tx: Transaction, key: string, request: string): Promise<Answer | undefined> {
  const [given] = await tx.query<Answer>(sql`
    select status, location, etag, body from app.claim_key(${key}, decode(${request}, 'hex'))`);
  return given;
}

/** Keeps the answer for whoever comes with the key again. */
export async function keepAnswer(tx: Transaction, key: string, answer: Answer): Promise<void> {
  const { status, location, etag, body } = answer;
  await tx.query(sql`select app.keep_answer(${key}, ${status}::smallint, ${location}, ${etag}, ${body})`);
}
