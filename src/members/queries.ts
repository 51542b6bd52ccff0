import { containing, type Statement, sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';
import { type Listed, type Order, type Page, pageClause, sortKey } from '../http/page.js';
import type { MEMBER_SORTS, MemberDto, MemberListQuery } from './schemas.js';

/** Members as this caller may see them: contact data only of themself, or by their role. */
const columns: Statement = sql`
    id, tenant_id as club_id, display_name,
    case when id = (select app.member_id()) or (select app.role()) >= 'Manager' then email end as email,
    role,
    case when id = (select app.member_id()) or (select app.role()) >= 'Admin' then external_user_id end as external_user_id,
    joined_at, updated_at`;

/** The ways to sort members. */
export const memberOrders: Record<(typeof MEMBER_SORTS)[number], Order> = {
  displayName: { column: sql`display_name`, kind: 'text', field: 'displayName' },
  joinedAt: { column: sql`joined_at`, kind: 'instant', field: 'joinedAt' },
};

/** A page of the club's members. */
export function listMembers(
  tx: Transaction,
  query: MemberListQuery,
  page: Page,
): Promise<Listed<MemberDto>[]> {
  const conditions: Statement[] = [];
  if (query.q !== undefined) {
    conditions.push(sql`display_name ilike ${containing(query.q)}`);
  }
  if (query.role !== undefined) {
    conditions.push(sql`role = ${query.role}`);
  }
  return tx.query(
    sql`select ${columns}${sortKey(page)} from app.members ${pageClause(page, sql`id`, conditions)}`,
  );
}

/** A member of the club, as this caller may see them. */
export async function findMember(tx: Transaction, id: string): Promise<MemberDto | undefined> {
  const [member] = await tx.query<MemberDto>(sql`select ${columns} from app.members where id = ${id}`);
  return member;
}

/** The caller's own membership. */
export async function findMyself(tx: Transaction): Promise<MemberDto> {
  const [member] = await tx.query<MemberDto>(
    sql`select ${columns} from app.members where id = (select app.member_id())`,
  );
  return member as MemberDto;
}
