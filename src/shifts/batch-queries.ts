import type { Json } from '../database/json.js';
import { asJson, type Query, type Statement, sql } from '../database/sql.js';
import type { Transaction } from '../database/transaction.js';
import type { Repeat } from './batch-schemas.js';
import { listed } from './queries.js';
import type { CreateShiftRequest, DeleteShiftsQuery, ShiftListDto } from './schemas.js';

/** The times of a shift of a rule, and whether they are valid. */
export interface Occurrence {
  date: string;
  startsAt: string;
  endsAt: string;
  isValid: boolean;
  /** The fields of the rule whose times are before 1970, with commas between them. */
  tooEarly: string;
}

/** A time some minutes before `starts_at`, in real time. */
const before = (minutes: number | null | undefined): Statement =>
  sql`starts_at - make_interval(mins => ${minutes ?? null}::integer)`;

/**
 * The times of the shifts that a rule starts on these dates. app.local_instant decides which instants its local times are. Times
 * are valid as for one shift. Materialized, or PostgreSQL would compute them again for every use.
 */
export function listOccurrences(
  tx: Transaction,
  { startsAtLocal, endsAtLocal, signupOpensBefore, signupClosesBefore, cancelUntilBefore }: Repeat,
  dates: string[],
): Promise<Occurrence[]> {
  return tx.query<Occurrence>(sql`
    with occurrence as materialized (
      select
        item.date, item.place,
        app.local_instant(item.date::date + rule.starts::time, club.time_zone) as starts_at,
        app.local_instant(item.date::date + (rule.ends::date - rule.starts::date) + rule.ends::time, club.time_zone) as ends_at
      from (select ${startsAtLocal}::text::timestamp as starts, ${endsAtLocal}::text::timestamp as ends) as rule
      cross join app.clubs as club
      cross join unnest(${dates}::text[]) with ordinality as item (date, place)
    )
    select
      date, starts_at::text as "startsAt", ends_at::text as "endsAt",
      ends_at > starts_at and ends_at - starts_at <= interval '31 days'
        and starts_at >= '1970-01-01T00:00:00Z' and ends_at < '2200-01-01T00:00:00Z' as "isValid",
      concat_ws(
        ',',
        case when ${before(signupOpensBefore)} < '1970-01-01T00:00:00Z' then 'signupOpensBefore' end,
        case when ${before(signupClosesBefore)} < '1970-01-01T00:00:00Z' then 'signupClosesBefore' end,
        case when ${before(cancelUntilBefore)} < '1970-01-01T00:00:00Z' then 'cancelUntilBefore' end
      ) as "tooEarly"
    from occurrence
    order by place`);
}

/** Creates the shifts of a rule, in the given order. */
export function insertRepeated(
  tx: Transaction,
  batchId: string,
  {
    title,
    location = null,
    description = null,
    capacity,
    signupOpensBefore,
    signupClosesBefore,
    cancelUntilBefore,
  }: Repeat,
  occurrences: Occurrence[],
): Promise<Json<ShiftListDto>[]> {
  const starts = occurrences.map(({ startsAt }) => startsAt);
  const ends = occurrences.map(({ endsAt }) => endsAt);
  return insertShifts(
    tx,
    batchId,
    sql`
      select
        ${title}::text as title, ${location}::text as location, ${description}::text as description, starts_at, ends_at,
        ${capacity}::integer as capacity, ${before(signupOpensBefore)} as signup_opens_at,
        ${before(signupClosesBefore)} as signup_closes_at, ${before(cancelUntilBefore)} as cancel_until, place
      from unnest(${starts}::text[]::timestamptz[], ${ends}::text[]::timestamptz[])
        with ordinality as item (starts_at, ends_at, place)`,
  );
}

/** Creates shifts, in the given order. */
export function insertListed(
  tx: Transaction,
  batchId: string,
  shifts: CreateShiftRequest[],
): Promise<Json<ShiftListDto>[]> {
  return insertShifts(
    tx,
    batchId,
    sql`
      select
        title, location, description, "startsAt" as starts_at, "endsAt" as ends_at, capacity,
        "signupOpensAt" as signup_opens_at, "signupClosesAt" as signup_closes_at, "cancelUntil" as cancel_until, place
      from rows from (
        jsonb_to_recordset(${JSON.stringify(shifts)}::text::jsonb) as (
          title text, location text, description text, "startsAt" timestamptz, "endsAt" timestamptz, capacity integer,
          "signupOpensAt" timestamptz, "signupClosesAt" timestamptz, "cancelUntil" timestamptz
        )
      ) with ordinality as item (
        title, location, description, "startsAt", "endsAt", capacity, "signupOpensAt", "signupClosesAt", "cancelUntil", place
      )`,
  );
}

/** PostgreSQL inserts rows one after another, in the order of the query, and returns them in this order. */
function insertShifts(tx: Transaction, batchId: string, shifts: Statement): Promise<Json<ShiftListDto>[]> {
  return tx.json<ShiftListDto>(sql`
    with created as (
      insert into app.shifts (
        title, location, description, starts_at, ends_at, capacity, signup_opens_at, signup_closes_at, cancel_until, batch_id
      )
      select
        title, location, description, starts_at, ends_at, capacity, signup_opens_at, signup_closes_at, cancel_until,
        ${batchId}::uuid
      from (${shifts}) as new
      order by place
      returning *
    ) ${asJson(sql`select ${listed} from created as shift`)}`);
}

/** Deletes the shifts of a batch and their signups, or those that start at a moment or later. app.delete_batch raises errors as SQLSTATEs. */
export function deleteBatch({ batchId, from }: DeleteShiftsQuery): Query<{ count: number }> {
  return sql`select app.delete_batch(${batchId}, ${from ?? null}) as count`;
}
