-- Up Migration
-- Finds the erased members of earlier releases, for 0026.
create index concurrently members_to_mark_erased on app.members (id) where external_user_id = 'erased:' || id::text;
