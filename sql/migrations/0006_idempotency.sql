-- Up Migration
-- Answers that were given, for clients who ask again because they never heard them.
set local row_security = off;

create table app.idempotency_keys (
  tenant_id  uuid not null,
  member_id  uuid not null,
  key        text not null,
  request    bytea not null,
  created_at timestamptz not null default now(),
  status     smallint,
  location   text,
  etag       text,
  body       text,
  constraint idempotency_keys_pkey primary key (tenant_id, member_id, key),
  constraint idempotency_keys_club_fkey foreign key (tenant_id) references app.clubs (id) on delete restrict,
  constraint idempotency_keys_member_fkey foreign key (tenant_id, member_id) references app.members (tenant_id, id) on delete restrict,
  constraint idempotency_keys_key_length check (char_length(key) between 1 and 255),
  constraint idempotency_keys_request_length check (octet_length(request) = 32),
  constraint idempotency_keys_answer_whole check ((status is null) = (body is null))
);

create index idempotency_keys_by_age on app.idempotency_keys (tenant_id, created_at);
