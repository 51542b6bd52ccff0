import { type Query, type Statement, sql } from '../database/sql.js';
import { memberOf } from '../resource/members.js';
import { type Listed, type Order, type Page, pageClause } from '../resource/pagination.js';
import { overlap } from '../shifts/queries.js';
import type { SIGNUP_SORTS, SignupListDto, SignupListQuery } from './schemas.js';

/** The sort orders of signups. */
export const signupOrders: Record<(typeof SIGNUP_SORTS)[number], Order> = {
  startsAt: { column: sql`shift.starts_at`, kind: 'instant', field: 'startsAt' },
};

/** A page of the club's signups, by the start of the shift. Not bounded: the signups of one start are sorted. */
export function listSignups(query: SignupListQuery, page: Page): Query<Listed<SignupListDto>> {
  return sql`
    select
      signup.id, shift.id as "shiftId", shift.title as "shiftTitle", shift.location, shift.starts_at as "startsAt",
      shift.ends_at as "endsAt", signup.member_id as "memberId", member.display_name as "memberName",
      signup.created_by_id as "createdById", signup.created_at as "createdAt"
    from app.shifts as shift
    join app.shift_signups as signup on signup.shift_id = shift.id
    join app.members as member on member.id = signup.member_id
    ${pageClause(page, sql`signup.id`, conditions(query))}`;
}

function conditions(query: SignupListQuery): Statement[] {
  const { memberId, shiftId, batchId } = query;
  const all = overlap(query);
  if (memberId !== undefined) {
    all.push(sql`signup.member_id = ${memberOf(memberId)}`);
  }
  if (shiftId !== undefined) {
    all.push(sql`shift.id = ${shiftId}`);
  }
  if (batchId !== undefined) {
    all.push(sql`shift.batch_id = ${batchId}`);
  }
  return all;
}
