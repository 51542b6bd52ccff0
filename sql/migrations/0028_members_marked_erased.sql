-- Up Migration
-- 0026 was the only use of this index.
drop index concurrently app.members_to_mark_erased;
