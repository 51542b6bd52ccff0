import { bounded, joinValues, type Query, type Statement, sql } from '../database/sql.js';
import { memberOf } from '../resource/members.js';
import { type Listed, type Order, type Page, pageClause } from '../resource/pagination.js';
import type { EVENT_SORTS, EventDto, EventListQuery } from './schemas.js';

/** An event that the caller can read has a number, although the column can be null. */
export const columns: Statement = sql`
  event.id, coalesce(event.sequence, 0) as sequence, event.type, event.at, event.subject_id as "subjectId",
  event.subject_title as "subjectTitle", event.actor_id as "actorId", event.member_id as "memberId", event.changes,
  event.fields`;

/** The order of events. */
export const eventOrders: Record<(typeof EVENT_SORTS)[number], Order> = {
  sequence: { column: sql`event.sequence`, kind: 'bigint', field: 'sequence', isUnique: true },
};

/** The one row of a list whose `after` is unknown: it has no id, and the number of the club's oldest event, if there is one. */
export type UnknownAfter = Record<Exclude<keyof EventDto, 'sequence'>, null> & { sequence: number | null };

/** A page of events. Beside a cursor, `after` is not read. */
export function listEvents(query: EventListQuery, page: Page): Query<Listed<EventDto> | UnknownAfter> {
  const { after } = query;
  const filters = conditions(query);
  const list = (all: Statement[]) =>
    sql`select ${columns} from app.events as event ${pageClause(page, sql`event.id`, all)}`;
  if (after === undefined || page.after !== undefined) {
    return bounded(list(filters), isIndexed(query));
  }
  const known = sql`from app.events as known where known.id = ${after}`;
  return bounded(
    sql`
      (${list([...filters, sql`event.sequence > (select known.sequence ${known})`])})
      union all
      select null, app.oldest_event(), null, null, null, null, null, null, null, null
      where not exists (select ${known})`,
    isIndexed(query),
  );
}

/** Whether an index bounds the rows that a list reads: no filter, one subject, or one member. */
function isIndexed({ type, subjectId, memberId, actorId }: EventListQuery): boolean {
  const isOneKey = subjectId === undefined || memberId === undefined;
  return type === undefined && actorId === undefined && isOneKey;
}

function conditions({ type, subjectId, memberId, actorId }: EventListQuery): Statement[] {
  const all: Statement[] = [];
  if (type !== undefined) {
    all.push(sql`event.type in (${joinValues(type)})`);
  }
  if (subjectId !== undefined) {
    all.push(sql`event.subject_id = ${subjectId}`);
  }
  if (memberId !== undefined) {
    all.push(sql`event.member_id = ${memberOf(memberId)}`);
  }
  if (actorId !== undefined) {
    all.push(actorId === 'none' ? sql`event.actor_id is null` : sql`event.actor_id = ${memberOf(actorId)}`);
  }
  return all;
}
