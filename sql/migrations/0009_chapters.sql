-- Up Migration
-- Which chapters were applied, so that a deploy that brings the same ones locks nothing for them.
set local row_security = off;

create table deploy.chapters (
  sha256     text primary key,
  applied_at timestamptz not null default now()
);
