import type { Json } from '../database/json.js';
import { asJson, bounded, type Query, type Statement, sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';
import { Problem } from '../errors/problem.js';
import { serviceUnavailable } from '../errors/server.js';
import { memberOf } from '../resource/members.js';
import type { Put } from '../resource/put.js';
import type { CalendarLinkDto } from './schemas.js';

const times: Statement = sql`link.created_at as "createdAt", link.expires_at as "expiresAt"`;

const columns: Statement = sql`null::text as url, ${times}`;

const linkOf = (member: Statement): Statement => sql`
    from app.calendar_links as link
    where link.member_id = ${member} and link.expires_at > now()`;

/** The caller's own link; no row if there is none or it has expired. */
export function findLink(): Query<CalendarLinkDto> {
  return bounded(sql`select ${columns} ${linkOf(memberOf('me'))}`);
}

/** The times of the link of a member; no row if there is none or it has expired. */
export const linkTimes = (member: Statement): Statement => sql`select ${times} ${linkOf(member)}`;

/**
 * Creates the caller's link in place of the one that exists. It is new unless that one was valid.
 *
 * @throws Problem (503) if the member has left or was erased meanwhile: sent again, the request is refused or creates a new member
 */
export async function replaceLink(tx: Transaction, secretHash: string): Promise<Json<Put<CalendarLinkDto>>> {
  for (;;) {
    const [replaced] = await tx.query<{ wasValid: boolean }>(sql`
      delete from app.calendar_links as link where link.member_id = ${memberOf('me')}
      returning link.expires_at > now() as "wasValid"`);
    const isNew = replaced?.wasValid !== true;
    const [link] = await tx.json<Put<CalendarLinkDto>>(sql`
      with link as (
        insert into app.calendar_links (secret_hash) values (decode(${secretHash}, 'hex')) on conflict do nothing
        returning created_at, expires_at
      )
      ${asJson(sql`select ${columns}, ${isNew}::boolean as "isNew" from link`)}`);
    // Undefined if another request of the member has inserted a link since the DELETE: it is tried again.
    if (link !== undefined) {
      await requireMember(tx);
      return link;
    }
  }
}

/**
 * app.set_membership and app.erase_member lock the row of the member, to which the inserted link refers. So either has committed before,
 * and is found here; or it waits for this transaction, and then deletes the link.
 */
async function requireMember(tx: Transaction): Promise<void> {
  const members = await tx.query(sql`
    select from app.members as member
    where member.id = ${memberOf('me')} and member.left_at is null and member.erased_at is null`);
  if (members.length === 0) {
    throw new Problem(
      serviceUnavailable,
      {},
      { reason: 'the member has left or was erased while the request ran' },
    );
  }
}

/** Deletes the caller's link. @returns whether there was one that had not expired */
export async function deleteOwnLink(tx: Transaction): Promise<boolean> {
  return deleteLink(tx, 'me');
}

/** Deletes the link of a member. @returns undefined if there is no such member; otherwise as `deleteOwnLink` */
export async function deleteLinkOf(tx: Transaction, memberId: string): Promise<boolean | undefined> {
  const members = await tx.query(sql`select from app.members where id = ${memberId}`);
  return members.length === 0 ? undefined : deleteLink(tx, memberId);
}

async function deleteLink(tx: Transaction, memberId: string): Promise<boolean> {
  const deleted = await tx.query(sql`
    delete from app.calendar_links as link where link.member_id = ${memberOf(memberId)} and link.expires_at > now()
    returning link.id`);
  return deleted.length > 0;
}

/** The calendar of a link. */
export interface Calendar {
  linkId: string;
  createdAt: string;
  expiresAt: string;
  /** The day in the time zone of the club. */
  expiresOn: string;
  clubName: string;
  shifts: CalendarShift[];
}

/** A shift of the member. */
export interface CalendarShift {
  id: string;
  title: string;
  location: string | null;
  description: string | null;
  startsAt: string;
  endsAt: string;
  updatedAt: string;
  version: number;
}

/** The calendar of the link with this secret; no row when there is none. */
export function findCalendar(clubId: string, secretHash: string): Query<Calendar> {
  return sql`
    select link_id as "linkId", created_at as "createdAt", expires_at as "expiresAt",
      expires_on as "expiresOn", club_name as "clubName", shifts
    from app.read_calendar(${clubId}, decode(${secretHash}, 'hex'))`;
}
