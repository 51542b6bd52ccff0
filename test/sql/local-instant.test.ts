import t from 'tap';
import { makeDatabase } from '../setup/database.js';

const db = await makeDatabase(t);

t.test('a local time is an instant as RFC 5545 defines it', async (t) => {
  for (const [zone, local, instant] of [
    ['Europe/Berlin', '2031-07-01 12:00', '2031-07-01T10:00:00Z'],
    // It does not exist: later by the gap.
    ['Europe/Berlin', '2031-03-30 02:30', '2031-03-30T01:30:00Z'],
    // It occurs twice: the first.
    ['Europe/Berlin', '2031-10-26 02:30', '2031-10-26T00:30:00Z'],
    ['America/New_York', '2031-03-09 02:30', '2031-03-09T07:30:00Z'],
    ['America/New_York', '2031-11-02 01:30', '2031-11-02T05:30:00Z'],
    // By half an hour.
    ['Australia/Lord_Howe', '2031-10-05 02:15', '2031-10-04T15:45:00Z'],
    ['Australia/Lord_Howe', '2031-04-06 01:45', '2031-04-05T14:45:00Z'],
    // Around Ramadan.
    ['Africa/Casablanca', '2030-02-10 02:30', '2030-02-10T02:30:00Z'],
    // A day that was left out.
    ['Pacific/Apia', '2011-12-30 12:00', '2011-12-30T22:00:00Z'],
    ['UTC', '2031-03-30 02:30', '2031-03-30T02:30:00Z'],
  ]) {
    const [row] = await db.queryAsAdmin<{ instant: Date }>('select app.local_instant($1, $2) as instant', [
      local,
      zone,
    ]);
    t.equal(row?.instant.toISOString().replace('.000Z', 'Z'), instant, `${local} in ${zone}`);
  }
});

t.test(
  'in every zone of a club, from 2024 to 2034, it is the first instant with the local time, or is later by the gap',
  async (t) => {
    await db.queryAsAdmin(
      `create function offset_at(at timestamptz, zone text) returns interval language sql stable
       return at at time zone zone - at at time zone 'UTC'`,
    );
    // Each quarter of an hour around each change of an offset, which is searched for by days, hours and an hour. An instant with the
    // local time has one of the two offsets.
    const [row] = await db.queryAsAdmin<{ changes: number; wrong: unknown[] }>(
      `with zone as materialized (
         select name from pg_timezone_names where name ~ '^[A-Z][A-Za-z_]+/' or name = 'UTC'
       ), days as materialized (
         select name, at
         from zone cross join generate_series('2024-01-01 00:00Z'::timestamptz, '2034-12-31 00:00Z', '8 days') as at
         where offset_at(at, name) <> offset_at(at + interval '8 days', name)
       ), hours as materialized (
         select name, days.at + part * interval '8 hours' as at
         from days cross join generate_series(0, 23) as part
         where offset_at(days.at + part * interval '8 hours', name) <> offset_at(days.at + (part + 1) * interval '8 hours', name)
       ), change as materialized (
         select name, at, offset_at(at, name) as before, offset_at(at + interval '1 hour', name) as after
         from (select name, hours.at + part * interval '1 hour' as at from hours cross join generate_series(0, 7) as part) as hour
         where offset_at(at, name) <> offset_at(at + interval '1 hour', name)
       ), found as materialized (
         select name, local_time, app.local_instant(local_time, name) as found,
           (local_time - before) at time zone 'UTC' as with_before, (local_time - after) at time zone 'UTC' as with_after
         from change
         cross join generate_series(-12, 16) as quarter
         cross join lateral (select at at time zone 'UTC' + before + quarter * interval '15 minutes' as local_time) as sample
       )
       select (select count(*)::int from change) as changes, json_agg(found) filter (where found <> expected) as wrong
       from found cross join lateral (
         select coalesce(min(instant) filter (where instant at time zone name = local_time), with_before) as expected
         from (values (with_before), (with_after)) as candidate (instant)
       ) as definition`,
    );
    t.equal(row?.wrong, null);
    t.ok(Number(row?.changes) > 3_000, `${row?.changes} changes`);
  },
);
