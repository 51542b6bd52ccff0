import { type Statement, sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';
import type { MemberDto } from './schemas.js';

const PAGE = 100;

/** Members as this caller may see them: contact data only of themself, or by their role. */
const members: Statement = sql`
  select
    id, tenant_id as club_id, display_name,
    case when id = (select app.member_id()) or (select app.role()) >= 'Manager' then email end as email,
    role,
    case when id = (select app.member_id()) or (select app.role()) >= 'Admin' then external_user_id end as external_user_id,
    joined_at, updated_at
  from app.members`;

/** The members of the club, by name. */
export function listMembers(tx: Transaction): Promise<MemberDto[]> {
  return tx.query(sql`${members} order by display_name, id limit ${PAGE}`);
}

export async function findMember(tx: Transaction, id: string): Promise<MemberDto | undefined> {
  const [member] = await tx.query<MemberDto>(sql`${members} where id = ${id}`);
  return member;
}

/** The caller's own membership. */
export async function findMyself(tx: Transaction): Promise<MemberDto> {
  const [member] = await tx.query<MemberDto>(sql`${members} where id = (select app.member_id())`);
  return member as MemberDto;
}
