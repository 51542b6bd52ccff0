-- Up Migration
-- What an administrator has approved with a deploy: the powers of roles outside the service, and the provider of the server.
set local row_security = off;

create table deploy.approvals (
  kind        text not null,
  name        text not null,
  value       text not null,
  approved_at timestamptz not null default now(),
  constraint approvals_pkey primary key (kind, name, value),
  constraint approvals_kind_known check (kind in ('power', 'provider', 'seal'))
);
