-- Deploy: what was deployed to this database.
--
-- The service reads these tables and never deploys. It serves when its own release was applied to this database at
-- some time, so it keeps running after the deploy of a newer release or after a rollback.

comment on schema deploy is 'What was deployed to this database; written by the deploy, read by the service.';
comment on table deploy.migrations is 'The migrations that ran, written by node-pg-migrate.';
comment on table deploy.migration_files is 'The hash of each migration when it ran. A deploy fails when the file was edited since.';
comment on table deploy.releases is 'Every release (migrations and chapters, as one hash) that was ever applied here.';
comment on table deploy.chapters is 'The chapters that were applied, as one hash. A deploy applies unchanged chapters again only after a change by hand.';

comment on table deploy.facts is 'The facts of the database after the last deploy, with SQL or the file that restores it. audit.drift compares them with the catalogs.';
comment on table deploy.approvals is 'The powers and objects of roles outside the service that were approved with a deploy.';

grant usage on schema deploy to club_api, club_auditor;
grant select on deploy.migrations, deploy.migration_files, deploy.releases, deploy.chapters, deploy.facts, deploy.approvals
to club_api, club_auditor;
