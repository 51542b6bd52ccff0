-- Up Migration
-- The constraint of 0032, for the rows that it did not check.
alter table app.shifts validate constraint shifts_wait_count_range;
