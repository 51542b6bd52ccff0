-- Up Migration
-- The same in the order of joining.
create index concurrently members_active_by_joining on app.members (tenant_id, joined_at, id) where left_at is null and erased_at is null;
