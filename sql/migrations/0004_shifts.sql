-- Up Migration
-- Shifts and the members signed up for them.
set local row_security = off;

create table app.shifts (
  tenant_id     uuid not null,
  id            uuid not null,
  title         text collate "und-x-icu" not null,
  location      text,
  description   text,
  starts_at     timestamptz not null,
  ends_at       timestamptz not null,
  capacity      integer not null,
  signup_count  integer not null default 0,
  created_by_id uuid,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  version       integer not null default 1,
  constraint shifts_pkey primary key (tenant_id, id),
  constraint shifts_club_fkey foreign key (tenant_id) references app.clubs (id) on delete restrict,
  constraint shifts_created_by_fkey foreign key (tenant_id, created_by_id) references app.members (tenant_id, id) on delete restrict,
  constraint shifts_title_length check (char_length(title) between 1 and 200),
  constraint shifts_location_length check (char_length(location) <= 200),
  constraint shifts_description_length check (char_length(description) <= 10000),
  constraint shifts_ends_after_start check (ends_at > starts_at and ends_at - starts_at <= interval '31 days'),
  constraint shifts_capacity_range check (capacity between 1 and 10000),
  constraint shifts_capacity_holds_signups check (signup_count between 0 and capacity),
  constraint shifts_version_positive check (version >= 1)
);

create index shifts_by_start on app.shifts (tenant_id, starts_at, id);
create index shifts_by_creator on app.shifts (tenant_id, created_by_id);

create table app.shift_signups (
  tenant_id  uuid not null,
  id         uuid not null,
  shift_id   uuid not null,
  member_id  uuid not null,
  created_at timestamptz not null default now(),
  constraint shift_signups_pkey primary key (tenant_id, id),
  constraint shift_signups_once unique (tenant_id, shift_id, member_id),
  constraint shift_signups_club_fkey foreign key (tenant_id) references app.clubs (id) on delete restrict,
  constraint shift_signups_shift_fkey foreign key (tenant_id, shift_id) references app.shifts (tenant_id, id) on delete cascade,
  constraint shift_signups_member_fkey foreign key (tenant_id, member_id) references app.members (tenant_id, id) on delete restrict
);

create index shift_signups_by_member on app.shift_signups (tenant_id, member_id);
