import type { Json } from '../database/json.js';
import { asJson, bounded, join, type Query, type Statement, sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';
import { memberOf } from '../resource/members.js';
import { type Listed, type Order, type Page, pageClause } from '../resource/pagination.js';
import type {
  ATTENDANCE_SORTS,
  AttendanceDto,
  AttendanceListQuery,
  HoursDto,
  HoursQuery,
  NAME_SORTS,
  RecordAttendanceRequest,
  ShiftAttendanceDto,
} from './schemas.js';

const columns: Statement = sql`
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
export type OfShift = Listed<ShiftAttendanceDto> | Record<keyof ShiftAttendanceDto | 'id', null>;

/** A page of everybody who signed up for a shift or has a record of it. */
export function listShiftAttendance(shiftId: string, page: Page): Query<OfShift> {
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

/** What decides about a record of a shift. */
export interface ShiftOfRecord {
  hasMember: boolean;
  hasStarted: boolean;
  /** Its length, rounded down. */
  minutes: number;
}

/** Locks a shift, so that one request at a time records who came. Locked first, as by every way into and out of a shift. */
export async function lockShiftOfRecord(
  tx: Transaction,
  shiftId: string,
  memberId: string,
): Promise<ShiftOfRecord | undefined> {
  const [shift] = await tx.query<ShiftOfRecord>(sql`
    select
      exists (select from app.members as member where member.id = ${memberId}) as "hasMember",
      shift.starts_at <= clock_timestamp() as "hasStarted",
      floor(extract(epoch from shift.ends_at - shift.starts_at) / 60)::integer as minutes
    from app.shifts as shift where shift.id = ${shiftId} for no key update`);
  return shift;
}

/** A record, and the length of the shift that it keeps. */
export interface LockedRecord {
  version: number;
  status: string;
  minutes: number | null;
  length: number;
}

/** Locks a record. */
export async function lockAttendance(
  tx: Transaction,
  shiftId: string,
  memberId: string,
): Promise<LockedRecord | undefined> {
  const [record] = await tx.query<LockedRecord>(sql`
    select version, status, minutes, floor(extract(epoch from ends_at - starts_at) / 60)::integer as length
    from app.attendance where shift_id = ${shiftId} and member_id = ${memberId} for update`);
  return record;
}

/** Creates or changes a record, with the shift as it is now; if it was deleted, with what the record has. */
export async function writeAttendance(
  tx: Transaction,
  shiftId: string,
  memberId: string,
  { status, minutes }: Pick<RecordAttendanceRequest, 'status' | 'minutes'>,
): Promise<Json<AttendanceDto>> {
  const [written] = await tx.json<AttendanceDto>(sql`
    with source as (
      select shift.title, shift.starts_at, shift.ends_at, exists (
        select from app.shift_signups as signup where signup.shift_id = shift.id and signup.member_id = ${memberId}
      ) as was_signed_up
      from app.shifts as shift where shift.id = ${shiftId}
      union all
      select attendance.shift_title, attendance.starts_at, attendance.ends_at, attendance.was_signed_up
      from app.attendance as attendance
      where attendance.shift_id = ${shiftId} and attendance.member_id = ${memberId}
        and not exists (select from app.shifts as shift where shift.id = attendance.shift_id)
    ), written as (
      insert into app.attendance (shift_id, member_id, shift_title, starts_at, ends_at, was_signed_up, status, minutes)
      select ${shiftId}, ${memberId}, source.title, source.starts_at, source.ends_at, source.was_signed_up,
        ${status}, ${minutes ?? null}::integer
      from source
      on conflict (tenant_id, shift_id, member_id) do update
        set shift_title = excluded.shift_title, starts_at = excluded.starts_at, ends_at = excluded.ends_at,
            was_signed_up = excluded.was_signed_up, status = excluded.status, minutes = excluded.minutes,
            recorded_by_id = excluded.recorded_by_id
      returning *
    )
    ${asJson(sql`
      select ${columns} from written as attendance join app.members as member on member.id = attendance.member_id`)}`);
  return written as Json<AttendanceDto>;
}

/** Reads a record that this transaction has locked. */
export async function readAttendance(
  tx: Transaction,
  shiftId: string,
  memberId: string,
): Promise<Json<AttendanceDto>> {
  const [record] = await tx.json<AttendanceDto>(asJson(findAttendance(shiftId, memberId)));
  return record as Json<AttendanceDto>;
}

/** Deletes a record. */
export async function deleteAttendance(tx: Transaction, shiftId: string, memberId: string): Promise<void> {
  await tx.query(sql`delete from app.attendance where shift_id = ${shiftId} and member_id = ${memberId}`);
}

/** A page of the hours of members. Of a former member, only if they attended. */
export function listHours({ memberId, ...query }: HoursQuery, page: Page): Query<Listed<HoursDto>> {
  const conditions = [sql`(member.erased_at is null or hours.shifts > 0)`];
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
