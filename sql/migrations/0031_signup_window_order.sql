-- Up Migration
-- The constraint of 0030, for the rows that it did not check.
alter table app.shifts validate constraint shifts_signup_window;
