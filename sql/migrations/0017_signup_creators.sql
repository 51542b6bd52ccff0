-- Up Migration
-- All signups that exist have no creator.
alter table app.shift_signups validate constraint shift_signups_created_by_fkey;
