-- Up Migration
-- The last number of a club is that of its last event; an advisory lock replaces the row that was counted up. Policies are created again
-- by the chapters.
set local row_security = off;

drop policy if exists events_recorder_floor on app.events;
drop policy if exists events_record on app.events;
drop index app.events_without_number;
alter table app.events
  drop constraint events_club_fkey,
  drop constraint events_sequence_positive,
  drop column transaction_id,
  drop column position;
drop table app.event_counters;
