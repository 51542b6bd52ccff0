import type { Json } from '../database/json.js';
import { asJson, bounded, contains, join, type Query, type Statement, sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';
import { type Listed, type Order, type Page, pageClause, sortKey } from '../resource/pagination.js';
import type {
  CreateMemberRequest,
  ImportMembersRequest,
  MEMBER_SORTS,
  MEMBER_STATUSES,
  MemberDto,
  MemberListQuery,
  MergeMembersRequest,
  SetMembershipRequest,
  UpdateMemberRequest,
} from './schemas.js';

/** The role in the last token of a member with a login. An erased member keeps it in the column. */
const role: Statement = sql`case when external_user_id is null then 'Member' else role end`;

/** The columns of members that this caller may see: contact data of other members only with a sufficient role. */
const columns: Statement = sql`
    id, tenant_id as "clubId", display_name as "displayName",
    case when id = (select app.member_id()) or (select app.role()) >= 'Manager' then email end as email,
    ${role} as role,
    case when id = (select app.member_id()) or (select app.role()) >= 'Admin' then external_user_id end as "externalUserId",
    external_user_id is not null as "hasLogin",
    case when erased_at is not null then 'Erased' when left_at is not null then 'Left' else 'Active' end as status,
    left_at as "leftAt",
    case when id = (select app.member_id()) or (select app.role()) >= 'Manager' then reference end as reference,
    joined_at as "joinedAt", updated_at as "updatedAt"`;

/** The members of each status. */
const WITH_STATUS: Record<(typeof MEMBER_STATUSES)[number], Statement> = {
  Active: sql`left_at is null and erased_at is null`,
  Left: sql`left_at is not null`,
  Erased: sql`erased_at is not null`,
};

/** The sort orders of members. */
export const memberOrders: Record<(typeof MEMBER_SORTS)[number], Order> = {
  displayName: { column: sql`display_name`, kind: 'text', field: 'displayName' },
  joinedAt: { column: sql`joined_at`, kind: 'instant', field: 'joinedAt' },
};

/** A page of the club's members. */
export function listMembers(
  { q, role: wanted, status = ['Active'], hasLogin, reference }: MemberListQuery,
  page: Page,
): Query<Listed<MemberDto>> {
  const conditions = [
    sql`(${join(
      status.map((one) => WITH_STATUS[one]),
      sql` or `,
    )})`,
  ];
  if (q !== undefined) {
    conditions.push(contains(sql`display_name`, q));
  }
  if (wanted !== undefined) {
    conditions.push(sql`${role} = ${wanted}`);
  }
  if (hasLogin !== undefined) {
    conditions.push(hasLogin === 'true' ? sql`external_user_id is not null` : sql`external_user_id is null`);
  }
  if (reference !== undefined) {
    conditions.push(sql`reference = ${reference}`);
  }
  const list = sql`select ${columns}${sortKey(page)} from app.members ${pageClause(page, sql`id`, conditions)}`;
  return bounded(list, conditions.length === 1 && status.join() === 'Active');
}

/** A member of the club, with the columns that this caller may see. */
export function findMember(id: string): Query<MemberDto> {
  return bounded(sql`select ${columns} from app.members where id = ${id}`);
}

/** The caller's own membership. */
export function findMyself(): Query<MemberDto> {
  return bounded(sql`select ${columns} from app.members where id = (select app.member_id())`);
}

/** Enters a member without a login. */
export async function insertMember(
  tx: Transaction,
  { displayName, email, reference = null }: CreateMemberRequest,
): Promise<Json<MemberDto>> {
  const [created] = await tx.json<MemberDto>(sql`
    with created as (
      insert into app.members (external_user_id, display_name, email, role, reference)
      values (null, ${displayName}, ${email?.toLowerCase() ?? null}, 'Member', ${reference})
      returning *
    ) ${asJson(sql`select ${columns} from created`)}`);
  return created as Json<MemberDto>;
}

/** Enters members without a login, unless their reference exists; returns all of them in the given order. */
export function importMembers(
  tx: Transaction,
  { members }: ImportMembersRequest,
): Promise<Json<MemberDto>[]> {
  const rows = members.map(({ displayName, email, reference }) => ({
    display_name: displayName,
    email: email?.toLowerCase(),
    reference,
  }));
  return tx.json<MemberDto>(
    asJson(sql`select ${columns} from app.import_members(${JSON.stringify(rows)}::text::jsonb)`),
  );
}

/** Deletes a member without a login. app.delete_member raises errors as SQLSTATEs. */
export function deleteMember(id: string): Query<object> {
  return sql`select app.delete_member(${id})`;
}

/** Merges a member without a login into another one, and returns that one. app.merge_members raises errors as SQLSTATEs. */
export function mergeMembers(id: string, { into }: MergeMembersRequest): Query<MemberDto> {
  return sql`select ${columns} from app.merge_members(${id}, ${into})`;
}

/** Changes a member by a merge patch. app.patch_member raises errors as SQLSTATEs. */
export function patchMember(
  id: string,
  { displayName, email, reference }: UpdateMemberRequest,
): Query<MemberDto> {
  // An absent field is undefined, which JSON.stringify leaves out.
  const patch = { display_name: displayName, email: email?.toLowerCase() ?? email, reference };
  return sql`select ${columns} from app.patch_member(${id}, ${JSON.stringify(patch)}::text::jsonb)`;
}

/** Ends or renews the membership of another member. app.set_membership raises errors as SQLSTATEs. */
export function setMembership(id: string, { status }: SetMembershipRequest): Query<MemberDto> {
  return sql`select ${columns} from app.set_membership(${id}, ${status})`;
}
