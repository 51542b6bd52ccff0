import type { Json } from '../database/json.js';
import { asJson, bounded, contains, type Query, type Statement, sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';
import { memberOf } from '../resource/members.js';
import { type Listed, type Order, type Page, pageClause, sortKey } from '../resource/pagination.js';
import type {
  CreateShiftRequest,
  SHIFT_SORTS,
  ShiftDetailDto,
  ShiftListDto,
  ShiftListQuery,
} from './schemas.js';
import type { SignupWindow } from './times.js';

/** The columns of a signup and its member. */
export const signupColumns: Statement = sql`
  signup.id, signup.shift_id as "shiftId", signup.member_id as "memberId", member.display_name as "memberName",
  signup.created_by_id as "createdById", signup.created_at as "createdAt", signup.promoted_at as "promotedAt"`;

const signupOf = (member: Statement): Statement => sql`
    from app.shift_signups as own
    where own.shift_id = shift.id and own.member_id = ${member}`;

const waitOf = (member: Statement): Statement => sql`
    from app.shift_waits as own
    where own.shift_id = shift.id and own.member_id = ${member}`;

/** Not EXISTS, for which PostgreSQL may read all signups of the member to look up a page of shifts. */
const has = (row: Statement): Statement => sql`(select true ${row}) is true`;

/**
 * The columns of shifts in lists, from rows named shift. Most shifts have no waits, so these are not read.
 *
 * @param member the member whose signup and wait they show
 */
export const listedFor = (member: Statement): Statement => sql`
  shift.id, shift.title, shift.location, shift.starts_at as "startsAt", shift.ends_at as "endsAt", shift.capacity,
  shift.signup_count as "signupCount", shift.capacity - shift.signup_count as "freeSlots",
  ${has(signupOf(member))} as "isSignedUp", shift.wait_count as "waitCount",
  shift.wait_count > 0 and ${has(waitOf(member))} as "isWaiting",
  shift.signup_opens_at as "signupOpensAt", shift.signup_closes_at as "signupClosesAt", shift.cancel_until as "cancelUntil",
  shift.batch_id as "batchId", shift.version`;

/** The same for the caller. */
export const listed = listedFor(memberOf('me'));

/** All columns of shifts with their signups, in the order of signing up, from app.shifts or from the rows that a statement has written. */
const detailed = (source: Statement): Statement => sql`
  select
    ${listed}, shift.tenant_id as "clubId", shift.description,
    (
      select coalesce(json_agg(signup order by signup."createdAt", signup.id), '[]')
      from (
        select ${signupColumns}
        from app.shift_signups as signup
        join app.members as member on member.id = signup.member_id
        where signup.shift_id = shift.id
      ) as signup
    ) as signups,
    shift.created_by_id as "createdById", shift.created_at as "createdAt", shift.updated_at as "updatedAt"
  from ${source} as shift`;

/** The sort orders of shifts. */
export const shiftOrders: Record<(typeof SHIFT_SORTS)[number], Order> = {
  startsAt: { column: sql`shift.starts_at`, kind: 'instant', field: 'startsAt' },
  title: { column: sql`shift.title`, kind: 'text', field: 'title' },
  createdAt: { column: sql`shift.created_at`, kind: 'instant' },
};

/** A page of the club's shifts. */
export function listShifts(query: ShiftListQuery, page: Page): Query<Listed<ShiftListDto>> {
  const list = sql`
    select ${listed}${sortKey(page)} from app.shifts as shift
    ${pageClause(page, sql`shift.id`, conditions(query))}`;
  return bounded(list, isIndexed(query));
}

/** Whether an index bounds the rows that a list reads: no filter in any order, or a window or a batch in the default order. */
function isIndexed({
  from,
  to,
  startsFrom,
  signedUp,
  waiting,
  hasFreeSlots,
  signupOpen,
  batchId,
  q,
  sort,
}: ShiftListQuery): boolean {
  const isDefaultOrder = sort === undefined || sort === 'startsAt' || sort === '-startsAt';
  return (
    [signedUp, waiting, hasFreeSlots, signupOpen, q].every(isUndefined) &&
    (isDefaultOrder || [from, to, startsFrom, batchId].every(isUndefined))
  );
}

const isUndefined = (value: unknown) => value === undefined;

/** The conditions that a part of a shift is in a window. */
export function overlap({ from, to }: { from?: string | undefined; to?: string | undefined }): Statement[] {
  const all: Statement[] = [];
  if (from !== undefined) {
    all.push(sql`shift.ends_at > ${from}`);
    // Redundant, because no shift is longer than 31 days (shifts_ends_after_start), but the index on starts_at can use it.
    all.push(sql`shift.starts_at > ${from}::timestamptz - interval '31 days'`);
  }
  if (to !== undefined) {
    all.push(sql`shift.starts_at < ${to}`);
  }
  return all;
}

function conditions(query: ShiftListQuery): Statement[] {
  const { startsFrom, signedUp, waiting, hasFreeSlots, signupOpen, batchId, q } = query;
  const all = overlap(query);
  if (startsFrom !== undefined) {
    all.push(sql`shift.starts_at >= ${startsFrom}`);
  }
  if (signedUp !== undefined) {
    all.push(sql`exists (select ${signupOf(memberOf(signedUp))})`);
  }
  if (waiting !== undefined) {
    all.push(sql`exists (select ${waitOf(memberOf(waiting))})`);
  }
  if (hasFreeSlots !== undefined) {
    all.push(sql`shift.signup_count < shift.capacity`);
  }
  if (signupOpen !== undefined) {
    all.push(
      sql`shift.starts_at > now() and (shift.signup_opens_at <= now()) is not false and (shift.signup_closes_at <= now()) is not true`,
    );
  }
  if (batchId !== undefined) {
    all.push(sql`shift.batch_id = ${batchId}`);
  }
  if (q !== undefined) {
    all.push(contains(sql`shift.title`, q));
  }
  return all;
}

/** A shift with its signups. Not bounded: a shift can have thousands of signups. */
export function findShift(id: string): Query<ShiftDetailDto> {
  return sql`${detailed(sql`app.shifts`)} where shift.id = ${id}`;
}

/** Creates a shift. */
export async function insertShift(tx: Transaction, shift: CreateShiftRequest): Promise<Json<ShiftDetailDto>> {
  const { title, startsAt, endsAt, capacity, location = null, description = null } = shift;
  const { signupOpensAt = null, signupClosesAt = null, cancelUntil = null } = shift;
  const [created] = await tx.json<ShiftDetailDto>(sql`
    with created as (
      insert into app.shifts (
        title, location, description, starts_at, ends_at, capacity, signup_opens_at, signup_closes_at, cancel_until
      )
      values (
        ${title}, ${location}, ${description}, ${startsAt}, ${endsAt}, ${capacity},
        ${signupOpensAt}, ${signupClosesAt}, ${cancelUntil}
      )
      returning *
    ) ${asJson(detailed(sql`created`))}`);
  return created as Json<ShiftDetailDto>;
}

/**
 * Updates the shift; a trigger increments its version if a column changes. Returns it as it is afterwards: those who wait may have got
 * places.
 */
export async function updateShift(
  tx: Transaction,
  id: string,
  shift: CreateShiftRequest & SignupWindow,
): Promise<Json<ShiftDetailDto>> {
  const { title, startsAt, endsAt, capacity, location = null, description = null } = shift;
  const { signupOpensAt, signupClosesAt, cancelUntil } = shift;
  await tx.query(sql`
    update app.shifts
    set title = ${title}, location = ${location}, description = ${description},
        starts_at = ${startsAt}, ends_at = ${endsAt}, capacity = ${capacity},
        signup_opens_at = ${signupOpensAt}, signup_closes_at = ${signupClosesAt}, cancel_until = ${cancelUntil}
    where id = ${id}`);
  const [updated] = await tx.json<ShiftDetailDto>(asJson(findShift(id)));
  return updated as Json<ShiftDetailDto>;
}

/** What a change of a shift is compared with. */
export type LockedShift = Pick<ShiftDetailDto, 'version' | 'signupCount'> & { limits: SignupWindow };

/** Locks a shift until this transaction ends. The times of its limits are instants of JSON. */
export async function lockShift(tx: Transaction, id: string): Promise<LockedShift | undefined> {
  const [shift] = await tx.json<LockedShift>(sql`
    with locked as (select * from app.shifts where id = ${id} for update)
    ${asJson(sql`
      select
        version, signup_count as "signupCount",
        json_build_object('signupOpensAt', signup_opens_at, 'signupClosesAt', signup_closes_at, 'cancelUntil', cancel_until)
          as limits
      from locked`)}`);
  return shift?.parse();
}

/** Deletes a shift and its signups. */
export async function deleteShift(tx: Transaction, id: string): Promise<void> {
  await tx.query(sql`delete from app.shifts where id = ${id}`);
}
