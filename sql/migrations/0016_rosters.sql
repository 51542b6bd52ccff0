-- Up Migration
-- Who entered a signup, which is unknown of those that exist.
set local row_security = off;

alter table app.shift_signups add column created_by_id uuid;
alter table app.shift_signups add constraint shift_signups_created_by_fkey
  foreign key (tenant_id, created_by_id) references app.members (tenant_id, id) on delete restrict not valid;
