-- Up Migration
-- For the list of members, which leaves out who has left or was erased.
create index concurrently members_active_by_display_name on app.members (tenant_id, display_name, id) where left_at is null and erased_at is null;
