-- Up Migration
-- Who came to a shift, and for how long. A record keeps what it needs of its shift, so no foreign key refers to it.
set local row_security = off;

create table app.attendance (
  tenant_id      uuid not null,
  id             uuid not null,
  shift_id       uuid not null,
  member_id      uuid not null,
  shift_title    text not null,
  starts_at      timestamptz not null,
  ends_at        timestamptz not null,
  was_signed_up  boolean not null,
  status         text not null,
  minutes        integer,
  recorded_by_id uuid,
  recorded_at    timestamptz not null default clock_timestamp(),
  version        integer not null default 1,
  constraint attendance_pkey primary key (tenant_id, id),
  constraint attendance_once unique (tenant_id, shift_id, member_id),
  constraint attendance_club_fkey foreign key (tenant_id) references app.clubs (id) on delete restrict,
  constraint attendance_member_fkey foreign key (tenant_id, member_id) references app.members (tenant_id, id) on delete restrict,
  constraint attendance_recorded_by_fkey foreign key (tenant_id, recorded_by_id) references app.members (tenant_id, id) on delete restrict,
  constraint attendance_shift_title_length check (char_length(shift_title) between 1 and 200),
  constraint attendance_ends_after_start check (ends_at > starts_at),
  constraint attendance_status_known check (status in ('Attended', 'Excused', 'NoShow')),
  constraint attendance_minutes_range check (minutes between 0 and 44640),
  constraint attendance_minutes_attended check ((status = 'Attended') = (minutes is not null)),
  constraint attendance_version_positive check (version >= 1)
);

create index attendance_by_start on app.attendance (tenant_id, starts_at, id);
create index attendance_by_member on app.attendance (tenant_id, member_id, starts_at, id);
create index attendance_by_recorder on app.attendance (tenant_id, recorded_by_id);
