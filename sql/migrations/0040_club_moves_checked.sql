-- Up Migration
-- The constraint of 0039, for the rows that it did not check.
alter table app.clubs validate constraint clubs_move;
