import { containing, type Statement, sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';
import { type Listed, type Order, type Page, pageClause, sortKey } from '../http/page.js';
import type {
  CreateShiftRequest,
  SHIFT_SORTS,
  ShiftDetailDto,
  ShiftListDto,
  ShiftListQuery,
  ShiftSignupDto,
} from './schemas.js';

const isSignedUp: Statement = sql`exists (
    select from app.shift_signups as own
    where own.shift_id = shift.id and own.member_id = (select app.member_id())
  )`;

const listed: Statement = sql`
  shift.id, shift.title, shift.location, shift.starts_at, shift.ends_at, shift.capacity, shift.signup_count,
  shift.capacity - shift.signup_count as free_slots,
  ${isSignedUp} as is_signed_up,
  shift.version`;

/** Shifts in full but for the signups, from app.shifts or from what a statement has just written. */
const detailed = (source: Statement): Statement => sql`
  select
    ${listed}, shift.tenant_id as club_id, shift.description, shift.created_by_id, shift.created_at, shift.updated_at
  from ${source} as shift`;

/** The ways to sort shifts. */
export const shiftOrders: Record<(typeof SHIFT_SORTS)[number], Order> = {
  startsAt: { column: sql`shift.starts_at`, kind: 'instant', field: 'startsAt' },
  title: { column: sql`shift.title`, kind: 'text', field: 'title' },
  createdAt: { column: sql`shift.created_at`, kind: 'instant' },
};

/** A page of the club's shifts. */
export function listShifts(
  tx: Transaction,
  query: ShiftListQuery,
  page: Page,
): Promise<Listed<ShiftListDto>[]> {
  return tx.query(sql`
    select ${listed}${sortKey(page)} from app.shifts as shift
    ${pageClause(page, sql`shift.id`, conditions(query))}`);
}

function conditions({ from, to, signedUp, hasFreeSlots, q }: ShiftListQuery): Statement[] {
  const all: Statement[] = [];
  if (from !== undefined) {
    all.push(sql`shift.ends_at > ${from}`);
    // Follows from the first, because no shift is longer (shifts_ends_after_start); the index is in the order of starts.
    all.push(sql`shift.starts_at > ${from}::timestamptz - interval '31 days'`);
  }
  if (to !== undefined) {
    all.push(sql`shift.starts_at < ${to}`);
  }
  if (signedUp !== undefined) {
    all.push(isSignedUp);
  }
  if (hasFreeSlots !== undefined) {
    all.push(sql`shift.signup_count < shift.capacity`);
  }
  if (q !== undefined) {
    all.push(sql`shift.title ilike ${containing(q)}`);
  }
  return all;
}

/** A shift with its signups. */
export async function findShift(tx: Transaction, id: string): Promise<ShiftDetailDto | undefined> {
  const [[shift], signups] = await tx.queryAll<[Omit<ShiftDetailDto, 'signups'>[], ShiftSignupDto[]]>(
    sql`${detailed(sql`app.shifts`)} where shift.id = ${id}`,
    signupsOf(id),
  );
  return shift && { ...shift, signups };
}

/** Makes a shift. */
export async function insertShift(tx: Transaction, shift: CreateShiftRequest): Promise<ShiftDetailDto> {
  const { title, startsAt, endsAt, capacity, location = null, description = null } = shift;
  const created = await withSignups(
    tx,
    sql`
    with created as (
      insert into app.shifts (title, location, description, starts_at, ends_at, capacity)
      values (${title}, ${location}, ${description}, ${startsAt}, ${endsAt}, ${capacity})
      returning *
    ) ${detailed(sql`created`)}`,
  );
  return created as ShiftDetailDto;
}

/** Writes the shift; the trigger gives it its next version when anything is different. */
export async function updateShift(
  tx: Transaction,
  id: string,
  shift: CreateShiftRequest,
): Promise<ShiftDetailDto> {
  const { title, startsAt, endsAt, capacity, location = null, description = null } = shift;
  const updated = await withSignups(
    tx,
    sql`
    with updated as (
      update app.shifts
      set title = ${title}, location = ${location}, description = ${description},
          starts_at = ${startsAt}, ends_at = ${endsAt}, capacity = ${capacity}
      where id = ${id}
      returning *
    ) ${detailed(sql`updated`)}`,
  );
  return updated as ShiftDetailDto;
}

/** The version and the signups of a shift that nobody changes until this transaction ends. */
export async function lockShift(
  tx: Transaction,
  id: string,
): Promise<Pick<ShiftDetailDto, 'version' | 'signupCount'> | undefined> {
  const [shift] = await tx.query<Pick<ShiftDetailDto, 'version' | 'signupCount'>>(sql`
    select version, signup_count from app.shifts where id = ${id} for update`);
  return shift;
}

/** Deletes a shift, and its signups with it. */
export async function deleteShift(tx: Transaction, id: string): Promise<void> {
  await tx.query(sql`delete from app.shifts where id = ${id}`);
}

/** Signs the caller up. Refusals come from app.sign_up, as SQLSTATEs. */
export async function signUp(tx: Transaction, shiftId: string): Promise<ShiftSignupDto> {
  const [signup] = await tx.query<ShiftSignupDto>(sql`
    select signup.id, signup.shift_id, signup.member_id, member.display_name as member_name, signup.created_at
    from app.sign_up(${shiftId}) as signup
    join app.members as member on member.id = signup.member_id`);
  return signup as ShiftSignupDto;
}

/** Cancels the caller's signup. Refusals come from app.cancel_sign_up, as SQLSTATEs. */
export async function cancelSignUp(tx: Transaction, shiftId: string): Promise<void> {
  await tx.query(sql`select app.cancel_sign_up(${shiftId})`);
}

async function withSignups(tx: Transaction, statement: Statement): Promise<ShiftDetailDto | undefined> {
  const [shift] = await tx.query<Omit<ShiftDetailDto, 'signups'>>(statement);
  if (shift === undefined) {
    return undefined;
  }
  const signups = await tx.query<ShiftSignupDto>(signupsOf(shift.id));
  return { ...shift, signups };
}

/** The signups of a shift, in their order. */
const signupsOf = (shiftId: string): Statement => sql`
  select signup.id, signup.shift_id, signup.member_id, member.display_name as member_name, signup.created_at
  from app.shift_signups as signup
  join app.members as member on member.id = signup.member_id
  where signup.shift_id = ${shiftId}
  order by signup.created_at, signup.id`;
