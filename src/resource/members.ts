import type { FastifyRequest } from 'fastify';
import { tenantOf } from '../auth/tenant.js';
import type { Json } from '../database/json.js';
import { type Query, type Statement, sql } from '../database/sql.js';
import { insufficientRole } from '../errors/auth.js';
import { Problem } from '../errors/problem.js';
import { isAtLeast } from '../roles.js';

/** A member by the id, or the caller by `me`. */
export const memberOf = (id: string): Statement => (id === 'me' ? sql`(select app.member_id())` : sql`${id}`);

/**
 * Reads rows about members, of which a Manager reads all and a Member their own.
 *
 * @param memberId the member whom the request names, or `me`
 * @param select returns the query, for all rows or for the caller's own
 * @throws Problem `insufficient_role` when a Member names another one
 */
export async function readAboutMembers<Row>(
  request: FastifyRequest,
  memberId: string | undefined,
  select: (readsAll: boolean) => Query<Row>,
): Promise<Json<Row>[]> {
  const { role } = tenantOf(request);
  const readsAll = isAtLeast(role, 'Manager');
  const rows = await request.read(select(readsAll));
  const isOther = memberId !== undefined && memberId !== 'me' && memberId.toLowerCase() !== request.memberId;
  // Only the read tells which member the caller is.
  if (!readsAll && isOther) {
    throw new Problem(insufficientRole, { requiredRole: 'Manager', yourRole: role });
  }
  return rows;
}
