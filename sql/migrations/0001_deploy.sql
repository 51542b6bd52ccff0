-- Up Migration
-- What was deployed here, so that a server can tell whether its database is older than itself.
set local row_security = off;

create table deploy.migration_files (
  name   text primary key,
  sha256 text not null
);

create table deploy.releases (
  fingerprint text primary key,
  applied_at  timestamptz not null default now()
);
