-- Deploy: what was deployed here.
--
-- The service compares and never applies: it serves when the release it belongs to has been applied to this
-- database at some time, so a newer release beside it, or a rollback behind it, does not stop it.

comment on schema deploy is 'What was deployed to this database; written by the deploy, read by the service.';
comment on table deploy.migrations is 'The migrations that ran, kept by node-pg-migrate.';
comment on table deploy.migration_files is 'The hash of each migration as it ran: an edited one stops the next deploy.';
comment on table deploy.releases is 'Every release (migrations and chapters, as one hash) that was ever applied here.';
comment on table deploy.chapters is 'The chapters that were applied, as one hash: a deploy applies the last ones again only after a change by hand.';

comment on table deploy.facts is 'What the last deploy left behind, and the SQL that makes it; audit.drift compares.';

grant usage on schema deploy to club_api, club_auditor;
grant select on deploy.releases, deploy.facts to club_api, club_auditor;
