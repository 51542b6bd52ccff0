import { type Query, sql } from '../database/sql.js';
import type { Put } from '../resource/put.js';
import { signupColumns } from './queries.js';
import type { ShiftSignupDto } from './schemas.js';

/** Signs a member up, or returns the signup that exists. app.assign_sign_up raises errors as SQLSTATEs. */
export function assignSignUp(shiftId: string, memberId: string): Query<Put<ShiftSignupDto>> {
  return sql`
    select ${signupColumns}, assigned.is_new as "isNew"
    from app.assign_sign_up(${shiftId}, ${memberId}) as assigned
    cross join lateral (select (assigned.signup).*) as signup
    join app.members as member on member.id = signup.member_id`;
}

/** Cancels the signup of a member. app.remove_sign_up raises errors as SQLSTATEs. */
export function removeSignUp(shiftId: string, memberId: string): Query<object> {
  return sql`select app.remove_sign_up(${shiftId}, ${memberId})`;
}
