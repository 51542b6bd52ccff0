import { bounded, join, type Query, type Statement, sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';
import { memberOf } from '../resource/members.js';
import { type Listed, type Order, type Page, pageClause } from '../resource/pagination.js';
import type { Put } from '../resource/put.js';
import type {
  ATTENDANCE_SORTS,
  AttendanceDto,
  AttendanceListQuery,
  AttendanceParams,
  HoursDto,
  HoursQuery,
  NAME_SORTS,
  RecordAttendanceRequest,
  ShiftAttendanceDto,
} from './schemas.js';

/** The columns of a record and its member. */
export const columns: Statement = sql`
  attendance.shift_id as "shiftId", attendance.shift_title as "shiftTitle", attendance.starts_at as "startsAt",
  attendance.ends_at as "endsAt", attendance.was_signed_up as "wasSignedUp", attendance.member_id as "memberId",
  member.display_name as "memberName", attendance.status, attendance.minutes,
  attendance.recorded_by_id as "recordedById", attendance.recorded_at as "recordedAt", attendance.version`;

/** The order of records. Their rows have no id for the client, so it is the last member. */
export const attendanceOrders: Record<(typeof ATTENDANCE_SORTS)[number], Order> = {
  startsAt: { column: sql`attendance.starts_at`, kind: 'instant', field: 'startsAt', hidesId: true },
};

/** The order of members, by their names. */
export const nameOrders: Record<(typeof NAME_SORTS)[number], Order> = {
  memberName: { column: sql`member.display_name`, kind: 'text', field: 'memberName', hidesId: true },
};

/** The conditions of a season. */
function season({ from, to }: { from?: string | undefined; to?: string | undefined }): Statement[] {
  return [
    ...(from === undefined ? [] : [sql`attendance.starts_at >= ${from}`]),
    ...(to === undefined ? [] : [sql`attendance.starts_at < ${to}`]),
  ];
}

/** A page of records. */
export function listAttendance(
  { memberId, ...query }: AttendanceListQuery,
  page: Page,
): Query<Listed<AttendanceDto>> {
  const conditions = season(query);
  if (memberId !== undefined) {
    conditions.push(sql`attendance.member_id = ${memberOf(memberId)}`);
  }
  return bounded(sql`
    select ${columns}, attendance.id
    from app.attendance as attendance
    join app.members as member on member.id = attendance.member_id
    ${pageClause(page, sql`attendance.id`, conditions)}`);
}

/** A row of a list of one shift, or the one row that says that there is neither the shift nor a record of it. */
type ShiftAttendanceRow = Listed<ShiftAttendanceDto> | Record<keyof ShiftAttendanceDto | 'id', null>;

/** A page of everybody who signed up for a shift or has a record of it. */
export function listShiftAttendance(shiftId: string, page: Page): Query<ShiftAttendanceRow> {
  return sql`
    (
      select
        coalesce(attendance.shift_id, shift.id) as "shiftId", coalesce(attendance.shift_title, shift.title) as "shiftTitle",
        coalesce(attendance.starts_at, shift.starts_at) as "startsAt", coalesce(attendance.ends_at, shift.ends_at) as "endsAt",
        coalesce(attendance.was_signed_up, true) as "wasSignedUp", member.id as "memberId",
        member.display_name as "memberName", attendance.status, attendance.minutes,
        attendance.recorded_by_id as "recordedById", attendance.recorded_at as "recordedAt", attendance.version, member.id
      from (
        select signup.member_id from app.shift_signups as signup where signup.shift_id = ${shiftId}
        union
        select attendance.member_id from app.attendance as attendance where attendance.shift_id = ${shiftId}
      ) as person
      join app.members as member on member.id = person.member_id
      left join app.attendance as attendance on attendance.shift_id = ${shiftId} and attendance.member_id = member.id
      left join app.shifts as shift on shift.id = ${shiftId}
      ${pageClause(page, sql`member.id`, [])}
    )
    union all
    select null, null, null, null, null, null, null, null, null, null, null, null, null
    where not exists (select from app.shifts as shift where shift.id = ${shiftId})
      and not exists (select from app.attendance as attendance where attendance.shift_id = ${shiftId})`;
}

/** The record of a member; a row of nulls if there is none but the shift, and no row if there is neither. */
export function findAttendance(
  shiftId: string,
  memberId: string,
): Query<AttendanceDto | Record<keyof AttendanceDto, null>> {
  return bounded(sql`
    select ${columns}
    from (select ${shiftId}::uuid as id) as asked
    left join app.shifts as shift on shift.id = asked.id
    left join app.attendance as attendance on attendance.shift_id = asked.id and attendance.member_id = ${memberId}
    left join app.members as member on member.id = attendance.member_id
    where shift.id is not null or attendance.id is not null`);
}

/**
 * Records whether a member came, if the record has the version in the body, and the tags of the headers allow it. app.record_attendance
 * has the rules and the order of the errors.
 */
export function recordAttendance(
  { id, memberId }: AttendanceParams,
  { status, minutes, version }: RecordAttendanceRequest,
  { ifMatch, ifNoneMatch }: { ifMatch: string[] | null; ifNoneMatch: string[] | null },
): Query<Put<AttendanceDto>> {
  return sql`
    select ${columns}, recorded.is_new as "isNew"
    from app.record_attendance(${id}, ${memberId}, ${status}, ${minutes ?? null}, ${version ?? null}, ${ifMatch}, ${ifNoneMatch})
      as recorded
    cross join lateral (select (recorded.attendance).*) as attendance
    cross join lateral (select recorded.member_name as display_name) as member`;
}

/** Locks a shift, so that one request at a time changes its records. The order of locks is that of 61_signups.sql. */
export async function lockShift(tx: Transaction, shiftId: string): Promise<boolean> {
  const shifts = await tx.query(sql`select from app.shifts where id = ${shiftId} for no key update`);
  return shifts.length > 0;
}

/** Locks a record and returns its version. */
export async function lockAttendance(
  tx: Transaction,
  shiftId: string,
  memberId: string,
): Promise<{ version: number } | undefined> {
  const [record] = await tx.query<{ version: number }>(sql`
    select version from app.attendance where shift_id = ${shiftId} and member_id = ${memberId} for update`);
  return record;
}

/** Deletes a record. */
export async function deleteAttendance(tx: Transaction, shiftId: string, memberId: string): Promise<void> {
  await tx.query(sql`delete from app.attendance where shift_id = ${shiftId} and member_id = ${memberId}`);
}

/** A page of the hours of members. Of those who have left or were erased, only if they attended. */
export function listHours({ memberId, ...query }: HoursQuery, page: Page): Query<Listed<HoursDto>> {
  const conditions = [sql`(member.left_at is null and member.erased_at is null or hours.shifts > 0)`];
  if (memberId !== undefined) {
    conditions.push(sql`member.id = ${memberOf(memberId)}`);
  }
  return sql`
    select member.id as "memberId", member.display_name as "memberName", hours.shifts, hours.minutes,
      hours."noShows", member.id
    from app.members as member
    cross join lateral (
      select
        count(*) filter (where attendance.status = 'Attended') as shifts,
        coalesce(sum(attendance.minutes), 0) as minutes,
        count(*) filter (where attendance.status = 'NoShow') as "noShows"
      from app.attendance as attendance
      where ${join([sql`attendance.member_id = member.id`, ...season(query)], sql` and `)}
    ) as hours
    ${pageClause(page, sql`member.id`, conditions)}`;
}
