-- Up Migration
-- Who waits for a place in a shift, and which signups have come from waiting.
set local row_security = off;

create table app.shift_waits (
  tenant_id     uuid not null,
  id            uuid not null,
  shift_id      uuid not null,
  member_id     uuid not null,
  created_by_id uuid,
  created_at    timestamptz not null default clock_timestamp(),
  constraint shift_waits_pkey primary key (tenant_id, id),
  constraint shift_waits_once unique (tenant_id, shift_id, member_id),
  constraint shift_waits_club_fkey foreign key (tenant_id) references app.clubs (id) on delete restrict,
  constraint shift_waits_shift_fkey foreign key (tenant_id, shift_id) references app.shifts (tenant_id, id) on delete cascade,
  constraint shift_waits_member_fkey foreign key (tenant_id, member_id) references app.members (tenant_id, id) on delete restrict,
  constraint shift_waits_created_by_fkey foreign key (tenant_id, created_by_id) references app.members (tenant_id, id) on delete restrict
);

create index shift_waits_in_order on app.shift_waits (tenant_id, shift_id, created_at, id);
create index shift_waits_by_member on app.shift_waits (tenant_id, member_id);
create index shift_waits_by_creator on app.shift_waits (tenant_id, created_by_id);

alter table app.shifts
  add column wait_count integer not null default 0,
  add constraint shifts_wait_count_range check (wait_count between 0 and 500) not valid;
alter table app.shift_signups add column promoted_at timestamptz;
