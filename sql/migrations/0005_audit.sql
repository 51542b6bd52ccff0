-- Up Migration
-- What a deploy leaves behind, so that the audit can tell whether somebody changed it by hand.
set local row_security = off;

create table deploy.facts (
  kind         text not null,
  object       text not null,
  fact         text not null,
  make         text,
  unmake       text,
  server_major integer not null,
  constraint facts_pkey primary key (kind, object)
);
