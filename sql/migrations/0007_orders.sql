-- Up Migration
-- An index for each order that a list can be asked for, and for the filters that come with the usual one.
--
-- Each is led by the club, because every statement asks for one, and ends with the id, because a page goes on behind a
-- row: so a page is read from the index, wherever it begins.
set local row_security = off;

create index tasks_by_update on app.tasks (tenant_id, updated_at, id);
-- Not coalesce, which might leak in PostgreSQL's eyes, so that below a policy the index would not be used.
create index tasks_by_due_date
  on app.tasks (tenant_id, (case when due_at is null then 'infinity' else due_at end), id);
create index tasks_by_title on app.tasks (tenant_id, title, id);
create index tasks_by_state on app.tasks (tenant_id, state, created_at, id);
-- In the place of one that knew no order.
create index tasks_of_assignee on app.tasks (tenant_id, assignee_id, created_at, id);
drop index app.tasks_by_assignee;

create index shifts_by_title on app.shifts (tenant_id, title, id);
create index shifts_by_creation on app.shifts (tenant_id, created_at, id);

create index members_by_joining on app.members (tenant_id, joined_at, id);
