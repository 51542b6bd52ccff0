-- Up Migration
-- The name of a member by their id, out of an index alone.
--
-- A page of tasks looks up the name of each task's assignee. The index by names has the name too, but only a walk over
-- the whole club finds an id in it; where most clubs are small PostgreSQL would take that walk in a large one as well.
set local row_security = off;

create index members_names on app.members (tenant_id, id) include (display_name);
