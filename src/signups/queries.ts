import { bounded, type Query, type Statement, sql } from '../database/sql.js';
import type { IdempotencyKey, KeyedResponse } from '../resource/idempotency.js';
import { memberOf } from '../resource/members.js';
import { type Listed, type Order, type Page, pageClause } from '../resource/pagination.js';
import type { Put } from '../resource/put.js';
import { overlap, signupColumns } from '../shifts/queries.js';
import type { ShiftSignupDto } from '../shifts/schemas.js';
import type { SIGNUP_SORTS, SignupListDto, SignupListQuery } from './schemas.js';

/** Signs the caller up. app.sign_up raises errors as SQLSTATEs. */
export function signUp(shiftId: string): Query<ShiftSignupDto> {
  return sql`
    select ${signupColumns}
    from app.sign_up(${shiftId}) as signup
    join app.members as member on member.id = signup.member_id`;
}

/**
 * The same, once for a key: app.sign_up_once returns the stored response of an earlier request with the key. It writes the
 * columns of `signupColumns` itself.
 */
export function signUpOnce(
  { key, fingerprint }: IdempotencyKey,
  location: string,
  shiftId: string,
): Query<KeyedResponse> {
  return sql`
    select is_replay as "isReplay", status, location_of_signup as location, etag, body
    from app.sign_up_once(${key}, decode(${fingerprint}, 'hex'), ${location}, ${shiftId})`;
}

/** Cancels the caller's signup. app.cancel_sign_up raises errors as SQLSTATEs. */
export function cancelSignUp(shiftId: string): Query<object> {
  return sql`select app.cancel_sign_up(${shiftId})`;
}

/** Signs a member up, or returns the signup that exists. app.assign_sign_up raises errors as SQLSTATEs. */
export function assignSignUp(shiftId: string, memberId: string): Query<Put<ShiftSignupDto>> {
  return sql`
    select ${signupColumns}, assigned.is_new as "isNew"
    from app.assign_sign_up(${shiftId}, ${memberId}) as assigned
    cross join lateral (select (assigned.signup).*) as signup
    cross join lateral (select assigned.member_name as display_name) as member`;
}

/** Cancels the signup of a member. app.remove_sign_up raises errors as SQLSTATEs. */
export function removeSignUp(shiftId: string, memberId: string): Query<object> {
  return sql`select app.remove_sign_up(${shiftId}, ${memberId})`;
}

/**
 * The signup of a member for a shift; a row whose id is null when there is none.
 *
 * @param memberId the id of the member, or `me`
 */
export function findSignup(
  shiftId: string,
  memberId: string,
): Query<ShiftSignupDto | Record<keyof ShiftSignupDto, null>> {
  return bounded(sql`
    select ${signupColumns}
    from app.shifts as shift
    left join app.shift_signups as signup
      on signup.shift_id = shift.id and signup.member_id = ${memberOf(memberId)}
    left join app.members as member on member.id = signup.member_id
    where shift.id = ${shiftId}`);
}

/** The sort orders of signups. */
export const signupOrders: Record<(typeof SIGNUP_SORTS)[number], Order> = {
  startsAt: { column: sql`shift.starts_at`, kind: 'instant', field: 'startsAt' },
};

/** The club's signups with their shifts and members. */
export const listedSignups: Statement = sql`
  select
    signup.id, shift.id as "shiftId", shift.title as "shiftTitle", shift.location, shift.starts_at as "startsAt",
    shift.ends_at as "endsAt", signup.member_id as "memberId", member.display_name as "memberName",
    signup.created_by_id as "createdById", signup.created_at as "createdAt", signup.promoted_at as "promotedAt"
  from app.shifts as shift
  join app.shift_signups as signup on signup.shift_id = shift.id
  join app.members as member on member.id = signup.member_id`;

/** A page of the club's signups, by the start of the shift. Not bounded: the signups of one start are sorted. */
export function listSignups(query: SignupListQuery, page: Page): Query<Listed<SignupListDto>> {
  return sql`${listedSignups} ${pageClause(page, sql`signup.id`, conditions(query))}`;
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
