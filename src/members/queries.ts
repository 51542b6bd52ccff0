import { bounded, contains, type Query, type Statement, sql } from '../database/sql.js';
import { type Listed, type Order, type Page, pageClause, sortKey } from '../resource/pagination.js';
import type { MEMBER_SORTS, MemberDto, MemberListQuery } from './schemas.js';

/** The columns of members that this caller may see: contact data of other members only with a sufficient role. */
const columns: Statement = sql`
    id, tenant_id as "clubId", display_name as "displayName",
    case when id = (select app.member_id()) or (select app.role()) >= 'Manager' then email end as email,
    role,
    case when id = (select app.member_id()) or (select app.role()) >= 'Admin' then external_user_id end as "externalUserId",
    joined_at as "joinedAt", updated_at as "updatedAt"`;

/** The sort orders of members. */
export const memberOrders: Record<(typeof MEMBER_SORTS)[number], Order> = {
  displayName: { column: sql`display_name`, kind: 'text', field: 'displayName' },
  joinedAt: { column: sql`joined_at`, kind: 'instant', field: 'joinedAt' },
};

/** A page of the club's members. */
export function listMembers(query: MemberListQuery, page: Page): Query<Listed<MemberDto>> {
  const conditions: Statement[] = [];
  if (query.q !== undefined) {
    conditions.push(contains(sql`display_name`, query.q));
  }
  if (query.role !== undefined) {
    conditions.push(sql`role = ${query.role}`);
  }
  const list = sql`select ${columns}${sortKey(page)} from app.members ${pageClause(page, sql`id`, conditions)}`;
  return bounded(list, conditions.length === 0);
}

/** A member of the club, with the columns that this caller may see. */
export function findMember(id: string): Query<MemberDto> {
  return bounded(sql`select ${columns} from app.members where id = ${id}`);
}

/** The caller's own membership. */
export function findMyself(): Query<MemberDto> {
  return bounded(sql`select ${columns} from app.members where id = (select app.member_id())`);
}
