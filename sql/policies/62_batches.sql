-- Local times: what the clocks of a club show.
--
-- A repeated shift is created from local times, such as Tuesdays at 19:00. Each shift is stored with its instant; the rule is not
-- stored. Only the time zone data of PostgreSQL decides what a local time means.

create or replace function app.local_instant(local_time timestamp, zone text) returns timestamptz
-- RFC 5545, section 3.3.5. PostgreSQL agrees about a time that does not exist: it counts with the offset before the gap. Of a time
-- that occurs twice it takes the second. The first one has the offset of the day before.
language sql stable strict parallel safe
return (
  select case
    when first.instant < usual.instant and first.instant at time zone zone = local_time then first.instant
    else usual.instant
  end
  from (select local_time at time zone zone as instant) as usual
  cross join lateral (select usual.instant - interval '24 hours' as instant) as day_before
  cross join lateral (
    select local_time at time zone 'UTC' - (day_before.instant at time zone zone - day_before.instant at time zone 'UTC') as instant
  ) as first
);
comment on function app.local_instant(timestamp, text) is
  'The instant of a local time in a time zone, as RFC 5545 defines it: of a time that occurs twice the first, and one that does not exist is later by the gap.';
grant execute on function app.local_instant(timestamp, text) to club_api;
