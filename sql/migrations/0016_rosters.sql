-- Up Migration
-- Who created a signup. Null in existing rows, where it is unknown.
set local row_security = off;

alter table app.shift_signups add column created_by_id uuid;
alter table app.shift_signups add constraint shift_signups_created_by_fkey
  foreign key (tenant_id, created_by_id) references app.members (tenant_id, id) on delete restrict not valid;
