-- Up Migration
-- The foreign key of 0016, now for existing rows too: the column is null in them.
alter table app.shift_signups validate constraint shift_signups_created_by_fkey;
