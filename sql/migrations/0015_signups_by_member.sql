-- Up Migration
-- shift_signups_of_member begins with the same columns.
drop index concurrently app.shift_signups_by_member;
