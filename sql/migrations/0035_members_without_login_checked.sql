-- Up Migration
-- The constraint of 0034, for the rows that it did not check.
alter table app.members validate constraint members_without_login;
