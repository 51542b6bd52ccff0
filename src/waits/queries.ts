import { bounded, type Query, type Statement, sql } from '../database/sql.js';
import { memberOf } from '../resource/members.js';
import { type Listed, type Order, type Page, pageClause } from '../resource/pagination.js';
import type { Put } from '../resource/put.js';
import type { WAIT_SORTS, WaitDto } from './schemas.js';

/** The columns of a wait and its member, with a position. */
export const columns = (position: Statement): Statement => sql`
  wait.id, wait.shift_id as "shiftId", wait.member_id as "memberId", member.display_name as "memberName",
  ${position} as position, wait.created_by_id as "createdById", wait.created_at as "createdAt"`;

/** Lets the caller wait. app.wait_for_place raises errors as SQLSTATEs. */
export function waitForPlace(shiftId: string): Query<WaitDto> {
  return sql`
    select ${columns(sql`app.wait_position(wait)`)}
    from app.wait_for_place(${shiftId}) as wait
    join app.members as member on member.id = wait.member_id`;
}

/** Ends the caller's wait. app.stop_waiting raises errors as SQLSTATEs. */
export function stopWaiting(shiftId: string): Query<object> {
  return sql`select app.stop_waiting(${shiftId})`;
}

/** Lets a member wait, or returns the wait that exists. app.assign_wait raises errors as SQLSTATEs. */
export function assignWait(shiftId: string, memberId: string): Query<Put<WaitDto>> {
  return sql`
    select ${columns(sql`app.wait_position(assigned.wait)`)}, assigned.is_new as "isNew"
    from app.assign_wait(${shiftId}, ${memberId}) as assigned
    cross join lateral (select (assigned.wait).*) as wait
    cross join lateral (select assigned.member_name as display_name) as member`;
}

/** Ends the wait of a member. app.remove_wait raises errors as SQLSTATEs. */
export function removeWait(shiftId: string, memberId: string): Query<object> {
  return sql`select app.remove_wait(${shiftId}, ${memberId})`;
}

/**
 * The wait of a member for a shift; a row whose id is null when there is none.
 *
 * @param memberId the id of the member, or `me`
 */
export function findWait(shiftId: string, memberId: string): Query<WaitDto | Record<keyof WaitDto, null>> {
  return bounded(sql`
    select ${columns(sql`case when wait.id is not null then app.queue_position(wait) end`)}
    from app.shifts as shift
    left join app.shift_waits as wait on wait.shift_id = shift.id and wait.member_id = ${memberOf(memberId)}
    left join app.members as member on member.id = wait.member_id
    where shift.id = ${shiftId}`);
}

/** The sort orders of waits. Positions change while a client pages, the times of waiting do not. */
export const waitOrders: Record<(typeof WAIT_SORTS)[number], Order> = {
  position: { column: sql`wait.created_at`, kind: 'instant', field: 'createdAt' },
};

/** A row of the list, or the one row of nulls that says that there is no such shift. */
type WaitRow = Listed<WaitDto> | Record<keyof WaitDto, null>;

/** A page of the waits of a shift, of which there are at most 500. */
export function listWaits(shiftId: string, page: Page): Query<WaitRow> {
  return sql`
    (
      select ${columns(sql`wait.position`)}
      from (
        select wait.*, row_number() over (order by wait.created_at, wait.id) as position
        from app.shift_waits as wait
        where wait.shift_id = ${shiftId}
      ) as wait
      join app.members as member on member.id = wait.member_id
      ${pageClause(page, sql`wait.id`, [])}
    )
    union all
    select null, null, null, null, null, null, null
    where not exists (select from app.shifts as shift where shift.id = ${shiftId})`;
}
