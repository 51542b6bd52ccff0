-- Up Migration
-- Events of a club, and the number of its last one.
--
-- An event has its number from the COMMIT of its transaction on. The indexes of readers contain numbered events only, and the
-- one of numbering only the others, so that an event is once in each.
set local row_security = off;

create table app.events (
  tenant_id      uuid not null,
  id             uuid not null,
  sequence       bigint,
  type           text not null,
  at             timestamptz not null default clock_timestamp(),
  subject_id     uuid not null,
  subject_title  text,
  actor_id       uuid,
  member_id      uuid,
  changes        jsonb not null,
  fields         text[] not null,
  transaction_id xid8 not null default pg_current_xact_id(),
  position       pg_lsn not null default pg_current_wal_insert_lsn(),
  constraint events_pkey primary key (tenant_id, id),
  constraint events_club_fkey foreign key (tenant_id) references app.clubs (id) on delete restrict,
  constraint events_sequence_positive check (sequence >= 1)
);

create index events_without_number on app.events (transaction_id) where sequence is null;
create unique index events_by_sequence on app.events (tenant_id, sequence) where sequence is not null;
create index events_by_subject on app.events (tenant_id, subject_id, sequence) where sequence is not null;
create index events_by_member on app.events (tenant_id, member_id, sequence) where sequence is not null;

create table app.event_counters (
  tenant_id       uuid not null,
  last_sequence   bigint not null,
  oldest_sequence bigint not null default 1,
  constraint event_counters_pkey primary key (tenant_id),
  constraint event_counters_club_fkey foreign key (tenant_id) references app.clubs (id) on delete restrict,
  constraint event_counters_order check (oldest_sequence >= 1 and oldest_sequence <= last_sequence)
);
