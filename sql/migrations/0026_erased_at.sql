-- Up Migration
-- An erased member has no subject. Earlier releases wrote 'erased:' and the id there, which a token could have as its subject.
set local row_security = off;

alter table app.members add column erased_at timestamptz, alter column external_user_id drop not null;
alter table app.members add constraint members_erased_login check (erased_at is null or external_user_id is null) not valid;

-- The index of 0025 instead of a scan: requests wait.
set local enable_seqscan = off;
alter table app.members no force row level security, disable trigger user;
update app.members set erased_at = updated_at, external_user_id = null where external_user_id = 'erased:' || id::text;
alter table app.members force row level security, enable trigger user;
