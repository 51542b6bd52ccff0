-- Up Migration
-- Links to calendars: the secret of a link is the right to read the shifts of its member. The secret is stored as a hash.
set local row_security = off;

create table app.calendar_links (
  tenant_id   uuid not null,
  id          uuid not null,
  member_id   uuid not null,
  secret_hash bytea not null,
  created_at  timestamptz not null default now(),
  expires_at  timestamptz not null default now() + interval '9600 hours',
  constraint calendar_links_pkey primary key (tenant_id, id),
  constraint calendar_links_once unique (tenant_id, member_id),
  constraint calendar_links_secret unique (tenant_id, secret_hash),
  constraint calendar_links_club_fkey foreign key (tenant_id) references app.clubs (id) on delete restrict,
  constraint calendar_links_member_fkey foreign key (tenant_id, member_id) references app.members (tenant_id, id) on delete restrict,
  constraint calendar_links_secret_sha256 check (octet_length(secret_hash) = 32),
  constraint calendar_links_expires_later check (expires_at > created_at)
);
