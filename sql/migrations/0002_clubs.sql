-- Up Migration
-- Clubs (the tenants) and their members.
-- What people read and sort by (names, titles) has one collation whatever the database's own is; ICU's root
-- collation sorts as people expect in most languages.
set local row_security = off;

create schema app;

create type app.club_role as enum ('Viewer', 'Member', 'Manager', 'Admin');

create table app.clubs (
  id         uuid primary key,
  name       text collate "und-x-icu" not null,
  slug       text not null,
  time_zone  text not null,
  created_at timestamptz not null default now(),
  closed_at  timestamptz,
  constraint clubs_slug_key unique (slug),
  constraint clubs_name_length check (char_length(name) between 1 and 200 and name = btrim(name)),
  constraint clubs_slug_form check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and char_length(slug) <= 63)
);

create table app.members (
  tenant_id        uuid not null,
  id               uuid not null,
  external_user_id text not null,
  display_name     text collate "und-x-icu" not null,
  email            text,
  role             text not null,
  token_issued_at  timestamptz,
  joined_at        timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  constraint members_pkey primary key (tenant_id, id),
  constraint members_external_user_key unique (tenant_id, external_user_id),
  constraint members_club_fkey foreign key (tenant_id) references app.clubs (id) on delete restrict,
  constraint members_external_user_length check (char_length(external_user_id) between 1 and 255),
  constraint members_display_name_length check (char_length(display_name) between 1 and 200),
  constraint members_email_lower check (email = lower(email collate "C")),
  constraint members_role_known check (role in ('Viewer', 'Member', 'Manager', 'Admin'))
);

create index members_by_display_name on app.members (tenant_id, display_name, id);
