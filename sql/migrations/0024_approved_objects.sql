-- Up Migration
-- APPROVE approves the objects of a role too. Providers and seals are of earlier releases.
set local row_security = off;

alter table deploy.approvals drop constraint approvals_kind_known;
alter table deploy.approvals add constraint approvals_kind_known check (kind in ('power', 'object', 'provider', 'seal'));
