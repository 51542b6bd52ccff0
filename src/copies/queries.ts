import { columns as attendanceColumns, attendanceOrders } from '../attendance/queries.js';
import { ATTENDANCE_SORT } from '../attendance/schemas.js';
import { linkTimes } from '../calendar/queries.js';
import { type Query, type Statement, sql } from '../database/sql.js';
import { columns as eventColumns, eventOrders } from '../events/queries.js';
import { EVENT_SORT } from '../events/schemas.js';
import { findMember, findMyself } from '../members/queries.js';
import { memberOf } from '../resource/members.js';
import { orderClause, sortBy } from '../resource/pagination.js';
import { listedFor, shiftOrders } from '../shifts/queries.js';
import { SHIFT_SORT } from '../shifts/schemas.js';
import { listedSignups, signupOrders } from '../signups/queries.js';
import { SIGNUP_SORT } from '../signups/schemas.js';
import { listed as taskColumns, taskOrders } from '../tasks/queries.js';
import { TASK_SORT } from '../tasks/schemas.js';
import { columns as waitColumns, waitOrders } from '../waits/queries.js';
import { WAIT_SORT } from '../waits/schemas.js';
import type { MemberDataDto } from './schemas.js';

const rowOf = (query: Statement): Statement => sql`(select row_to_json(item) from (${query}) as item)`;

const rowsOf = (query: Statement): Statement =>
  sql`array_to_json(array(select row_to_json(item) from (${query}) as item))`;

const tasksWhere = (condition: Statement): Statement => sql`
  select ${taskColumns}, task.description
  from unnest(data.tasks) as task
  where ${condition}
  ${orderClause(sortBy(taskOrders, TASK_SORT), sql`task.id`)}`;

/** A row named person, with the rows of app.read_member_data as data. */
const member = sql`person.id`;

const signups = sql`
  ${listedSignups}
  where signup.member_id = ${member}
  ${orderClause(sortBy(signupOrders, SIGNUP_SORT), sql`signup.id`)}`;

const waits = sql`
  select ${waitColumns(sql`app.queue_position(wait)`)}
  from app.shift_waits as wait
  join app.members as member on member.id = wait.member_id
  where wait.member_id = ${member}
  ${orderClause(sortBy(waitOrders, WAIT_SORT), sql`wait.id`)}`;

const attendance = sql`
  select ${attendanceColumns}
  from unnest(data.attendance) as attendance
  join app.members as member on member.id = attendance.member_id
  ${orderClause(sortBy(attendanceOrders, ATTENDANCE_SORT), sql`attendance.id`)}`;

const shiftsCreated = sql`
  select ${listedFor(member)}, shift.description
  from app.shifts as shift
  where shift.created_by_id = ${member}
  ${orderClause(sortBy(shiftOrders, SHIFT_SORT), sql`shift.id`)}`;

const events = sql`
  select ${eventColumns}
  from unnest(data.events) as event
  ${orderClause(sortBy(eventOrders, EVENT_SORT), sql`event.id`)}`;

/**
 * All data about a member, each list whole and in its default order; no row if there is no such member, or the caller may not copy it.
 *
 * @param memberId the id of the member, or `me`
 */
export function findMemberData(memberId: string): Query<MemberDataDto> {
  return sql`
    select
      -- With six digits, so that the responses to GET and HEAD are equally long.
      to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "exportedAt",
      ${rowOf(memberId === 'me' ? findMyself() : findMember(memberId))} as member,
      ${rowsOf(signups)} as signups,
      ${rowsOf(waits)} as waits,
      ${rowsOf(attendance)} as attendance,
      ${rowsOf(tasksWhere(sql`task.assignee_id = ${member}`))} as "tasksAssigned",
      ${rowsOf(tasksWhere(sql`task.created_by_id = ${member}`))} as "tasksCreated",
      ${rowsOf(shiftsCreated)} as "shiftsCreated",
      ${rowsOf(events)} as events,
      ${rowOf(linkTimes(member))} as "calendarLink",
      data.stored_responses as "storedResponses"
    from app.members as person
    cross join lateral app.read_member_data(person.id) as data
    where person.id = ${memberOf(memberId)}`;
}
