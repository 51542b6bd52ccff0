-- Up Migration
-- The constraint of 0026, for the rows that it did not check.
alter table app.members validate constraint members_erased_login;
