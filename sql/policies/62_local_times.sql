-- Local times: what the clocks of a club show.
--
-- A repeated shift is created from local times, such as Tuesdays at 19:00. Each shift is stored with its instant; the rule is not
-- stored. Only the time zone data of PostgreSQL decides what a local time means.

create or replace function app.local_instant(local_time timestamp, zone text) returns timestamptz
-- RFC 5545, section 3.3.5. PostgreSQL agrees about a time that does not exist: it counts with the offset before the gap. Of a time
-- that occurs twice it takes the second. The first one has the offset of the day before.
--
-- Not in SQL, where each call would start a query.
language plpgsql stable strict parallel safe set search_path = pg_catalog, pg_temp
as $$
declare
  usual constant timestamptz := local_time at time zone zone;
  day_before constant timestamptz := usual - interval '24 hours';
  first constant timestamptz :=
    local_time at time zone 'UTC' - (day_before at time zone zone - day_before at time zone 'UTC');
begin
  return case when first < usual and first at time zone zone = local_time then first else usual end;
end
$$;
comment on function app.local_instant(timestamp, text) is
  'The instant of a local time in a time zone, as RFC 5545 defines it: of a time that occurs twice the first, and one that does not exist is later by the gap.';
grant execute on function app.local_instant(timestamp, text) to club_api;
