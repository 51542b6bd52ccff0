-- Intent, continued: keys, codes, and what a provider of PostgreSQL brings along.

create view audit.intended_uniques (index, columns, why) with (security_invoker) as values
  ('app.clubs_pkey', array['id']::name[], 'A club is the tenant.'),
  ('app.clubs_slug_key', array['slug'], 'A slug names one club in all. Only operators write it, so it tells no caller anything.');
comment on view audit.intended_uniques is 'The unique indexes without the tenant. Any other would tell one club what another one holds.';
comment on column audit.intended_uniques.index is 'The index.';
comment on column audit.intended_uniques.columns is 'Its columns.';
comment on column audit.intended_uniques.why is 'Why it may span the clubs.';

create view audit.intended_triggers (trigger, event, function, why) with (security_invoker) as values
  ('app.tasks.tasks_guard', 'BEFORE INSERT OR UPDATE', 'app.guard_task()', 'The workflow.'),
  ('app.shifts.shifts_stamp', 'BEFORE UPDATE', 'app.stamp_shift()', 'The version.'),
  ('app.shift_signups.shift_signups_count', 'AFTER INSERT OR DELETE OR UPDATE OF tenant_id, shift_id', 'app.count_signups()', 'The counter.');
comment on view audit.intended_triggers is 'The triggers: all of them for each row, none under a condition.';
comment on column audit.intended_triggers.trigger is 'The table and the trigger.';
comment on column audit.intended_triggers.event is 'What it runs at.';
comment on column audit.intended_triggers.function is 'What it calls.';
comment on column audit.intended_triggers.why is 'What it keeps.';

create view audit.intended_cascades (foreign_key, why) with (security_invoker) as values
  ('app.shift_signups.shift_signups_shift_fkey', 'The signups of a deleted shift go with it.');
comment on view audit.intended_cascades is 'The only foreign keys that delete or change rows.';
comment on column audit.intended_cascades.foreign_key is 'The table and the constraint.';
comment on column audit.intended_cascades.why is 'Why it is so.';

create view audit.intended_codes (sqlstate, meaning) with (security_invoker) as values
  ('TN001', 'The transaction did not say who is asking, or for which club.'),
  ('CL001', 'No such time zone.'),
  ('CL002', 'No such club.'),
  ('ME001', 'No such member.'),
  ('SH001', 'No such shift in this club.'),
  ('SH002', 'The shift has started.'),
  ('SH003', 'The member signed up already.'),
  ('SH004', 'Every place of the shift is taken.'),
  ('SH005', 'The member did not sign up.'),
  ('ID001', 'The idempotency key belongs to another request.'),
  ('TK001', 'The workflow has no such step.'),
  ('TK002', 'The step is not this caller''s.'),
  ('TK003', 'Only a Manager assigns a task to somebody else.'),
  ('AU001', 'The audit has findings.');
comment on view audit.intended_codes is 'Every SQLSTATE that a function raises, one for each reason.';
comment on column audit.intended_codes.sqlstate is 'The code.';
comment on column audit.intended_codes.meaning is 'The reason.';

create view audit.intended_extensions (extension, why) with (security_invoker) as values
  ('plpgsql'::name, 'The language of the functions; part of PostgreSQL.'),
  ('pg_stat_statements', 'Counts statements, without their parameters.');
comment on view audit.intended_extensions is 'The extensions that are no finding. The service needs none but plpgsql.';
comment on column audit.intended_extensions.extension is 'The extension.';
comment on column audit.intended_extensions.why is 'What it does.';

-- A provider keeps roles of its own that reach everything; nobody can take that from them.
create view audit.provider_roles (role, provider) with (security_invoker) as values
  ('rdsadmin'::name, 'Amazon RDS'), ('rds_superuser', 'Amazon RDS'), ('rds_replication', 'Amazon RDS'),
  ('cloudsqladmin', 'Google Cloud SQL'), ('cloudsqlsuperuser', 'Google Cloud SQL'), ('cloudsqlagent', 'Google Cloud SQL'),
  ('alloydbadmin', 'Google AlloyDB'), ('alloydbsuperuser', 'Google AlloyDB'),
  ('azuresu', 'Azure'), ('azure_superuser', 'Azure'), ('azure_pg_admin', 'Azure'),
  ('supabase_admin', 'Supabase'), ('supabase_replication_admin', 'Supabase'), ('supabase_read_only_user', 'Supabase'),
  ('neon_superuser', 'Neon'), ('cloud_admin', 'Neon'),
  ('doadmin', 'DigitalOcean'), ('_doadmin_managed', 'DigitalOcean'),
  ('avnadmin', 'Aiven'), ('aiven_admin', 'Aiven');
comment on view audit.provider_roles is 'Roles of providers that offer PostgreSQL as a service. What they hold is in audit.notes, and is no finding.';
comment on column audit.provider_roles.role is 'The role.';
comment on column audit.provider_roles.provider is 'Whose it is.';

-- Another application in the same database: roles that own things of their own and reach nothing of ours.
create view audit.other_applications (roleid) with (security_invoker) as
select role.oid
from pg_roles as role
where not role.rolsuper and not role.rolbypassrls and role.rolname !~ '^pg_'
  and role.oid <> (select datdba from pg_database where datname = current_database())
  and not exists (
    select from audit.intended_roles as intended
    join pg_roles as ours on ours.rolname = intended.role
    where ours.oid = role.oid or pg_has_role(role.oid, ours.oid, 'member')
  );
comment on view audit.other_applications is 'The roles that may own schemas of another application here. What is theirs alone is no finding.';
comment on column audit.other_applications.roleid is 'The role''s number in pg_authid.';

create view audit.other_schemas (schemaid) with (security_invoker) as
select namespace.oid
from pg_namespace as namespace
where namespace.nspname not in ('app', 'deploy', 'audit')
  and namespace.nspowner in (select other.roleid from audit.other_applications as other)
  and not exists (
    select from audit.intended_roles as intended
    join pg_roles as ours on ours.rolname = intended.role and not ours.rolsuper
    where has_schema_privilege(ours.oid, namespace.oid, 'usage')
  );
comment on view audit.other_schemas is 'The schemas of other applications, where no role of the service may look.';
comment on column audit.other_schemas.schemaid is 'The schema''s number in pg_namespace.';

-- A function, because planning a query in the place of each use would cost more than all checks together.
create function audit.is_elsewhere(schema oid, owner oid) returns boolean
language sql stable set search_path = ''
return schema in (select schemaid from audit.other_schemas) and owner in (select roleid from audit.other_applications);
comment on function audit.is_elsewhere(oid, oid) is 'Whether a thing is another application''s: its schema and its owner both are.';

-- 2025-08-14 closed CVE-2025-8713: statistics could show rows of a table under row-level security. Earlier ones that
-- concern policies: CVE-2024-10976 (policies forgotten below subqueries), CVE-2023-39418 (MERGE), CVE-2023-2455.
create view audit.intended_versions (major, minimum, why) with (security_invoker) as values
  (15, 150014, 'CVE-2025-8713: statistics show rows that row-level security hides.'),
  (16, 160010, 'CVE-2025-8713: statistics show rows that row-level security hides.'),
  (17, 170006, 'CVE-2025-8713: statistics show rows that row-level security hides.');
comment on view audit.intended_versions is 'The oldest version of each major release in which no known hole in row-level security is open.';
comment on column audit.intended_versions.major is 'The major version.';
comment on column audit.intended_versions.minimum is 'As server_version_num has it.';
comment on column audit.intended_versions.why is 'What an older one is open to.';
