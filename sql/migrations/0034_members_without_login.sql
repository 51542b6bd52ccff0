-- Up Migration
-- Members whom a Manager enters, who have no login, and members who have left. One constraint, so that one scan validates it.
set local row_security = off;

alter table app.members
  add column reference text,
  add column left_at timestamptz,
  add constraint members_without_login check (
    char_length(reference) >= 1 and char_length(reference) <= 100
    and (erased_at is null or (reference is null and left_at is null))
    and (external_user_id is not null or erased_at is not null or (role = 'Member' and token_issued_at is null))
  ) not valid;
