-- Up Migration
-- The same check without BETWEEN: inside another AND, PostgreSQL prints it with parentheses that are lost when the text is
-- parsed again, so the audit took the check of a restored backup for another one.
-- Only the table of clubs is read, which is small.
set local row_security = off;

alter table app.clubs drop constraint clubs_name_length;
alter table app.clubs add constraint clubs_name_length
  check (char_length(name) >= 1 and char_length(name) <= 200 and name = btrim(name));
