-- Intent: what is meant to exist beside the rule, and why.
--
-- The checks know the rule: every table has a tenant, a floor, keys that begin with the tenant. What is listed
-- here is the rest. A line more is a decision, and this file is where its review takes place.

create view audit.intended_roles (role, can_login, purpose, why) with (security_invoker) as values
  ('club_owner'::name, false, 'owner', 'Owns every object. No policy names it, so under FORCE ROW LEVEL SECURITY it sees no row.'),
  ('club_migrator', true, 'deploy', 'Deploys. May become the owner and the capabilities; the running service never holds it.'),
  ('club_api', true, 'runtime', 'The running service. Owns nothing, belongs to nobody.'),
  ('club_auditor', true, 'auditor', 'Reads this schema and no row of a club.'),
  ('club_signup', false, 'capability', 'Owns what signs a member up and off, and the counter: a member has no right to lock a shift.'),
  ('club_idempotency', false, 'capability', 'Owns what keeps answers for clients who ask again: no request reads or writes them by itself.'),
  ('club_expiry', false, 'capability', 'Owns what deletes expired answers of all clubs: it knows their age alone.'),
  ('club_directory', false, 'capability', 'Owns app.my_clubs: a caller finds the clubs of the token before choosing one.'),
  ('club_operator', false, 'capability', 'Owns what an operator calls, such as app.provision_club.');
comment on view audit.intended_roles is 'The roles of the service. All are without SUPERUSER, BYPASSRLS, CREATEROLE, CREATEDB, REPLICATION.';
comment on column audit.intended_roles.role is 'The role.';
comment on column audit.intended_roles.can_login is 'Whether it logs in.';
comment on column audit.intended_roles.purpose is 'owner, deploy, runtime, auditor or capability.';
comment on column audit.intended_roles.why is 'Why it exists.';

create view audit.intended_memberships (member, role, why) with (security_invoker) as
select 'club_migrator'::name, intended.role, 'A deploy makes what ' || intended.role || ' owns, in its name.'
from audit.intended_roles as intended
where intended.purpose in ('owner', 'capability');
comment on view audit.intended_memberships is 'Who may become whom.';
comment on column audit.intended_memberships.member is 'The role that may become another.';
comment on column audit.intended_memberships.role is 'The role that it may become.';
comment on column audit.intended_memberships.why is 'What for.';

create view audit.intended_settings (role, name, value, why) with (security_invoker) as values
  ('club_api'::name, 'search_path', 'app, pg_temp', 'Names mean the service''s own objects before anybody''s temporary ones.'),
  ('club_api', 'timezone', 'UTC', 'Times are printed in UTC.'),
  ('club_api', 'statement_timeout', '5s', 'A slow statement frees its connection.'),
  ('club_api', 'lock_timeout', '3s', 'So does one that waits for a lock.'),
  ('club_api', 'idle_in_transaction_session_timeout', '10s', 'An abandoned transaction lets its locks go.'),
  ('club_api', 'client_connection_check_interval', '500ms', 'So does a statement whose client has gone.'),
  ('club_api', 'jit', 'off', 'Compiling the plan of a page costs more than it saves.'),
  ('club_api', 'plan_cache_mode', 'force_generic_plan', 'Planning a page anew takes longer than reading it.'),
  ('club_auditor', 'search_path', 'pg_catalog', 'The auditor runs nothing that somebody put in its way.'),
  ('club_auditor', 'default_transaction_read_only', 'on', 'The auditor changes nothing.'),
  ('club_auditor', 'statement_timeout', '60s', 'An audit disturbs nobody for long.'),
  ('club_auditor', 'jit', 'off', 'Compiling the plan of the findings takes longer than they do.');
comment on view audit.intended_settings is 'What ALTER ROLE … SET holds for the roles of the service; anything else is a finding.';
comment on column audit.intended_settings.role is 'The role.';
comment on column audit.intended_settings.name is 'The setting.';
comment on column audit.intended_settings.value is 'Its value, as the catalog has it.';
comment on column audit.intended_settings.why is 'What for.';

create view audit.intended_accessors (function, setting, why) with (security_invoker) as values
  ('app.tenant_id()', 'app.tenant_id', 'The club of the transaction.'),
  ('app.user_id()', 'app.user_id', 'The subject of the caller''s token.'),
  ('app.role()', 'app.role', 'The caller''s role in the club.'),
  ('app.member_id()', 'app.member_id', 'The caller''s row in app.members.'),
  ('app.closed_club_id()', 'app.closed_club_id', 'The closed club that an operator removes.'),
  ('app.club_ids()', 'app.club_ids', 'The clubs that the token names, before one is chosen.');
comment on view audit.intended_accessors is 'The only functions that policies call. Each is STABLE, runs as its caller and raises TN001 when its setting is missing.';
comment on column audit.intended_accessors.function is 'Its signature.';
comment on column audit.intended_accessors.setting is 'The setting that it reads.';
comment on column audit.intended_accessors.why is 'What it says.';

create view audit.intended_definers (function, owner, why) with (security_invoker) as values
  ('app.sign_up(uuid)', 'club_signup'::name, 'Locks the shift, which needs an UPDATE right that no Member has.'),
  ('app.cancel_sign_up(uuid)', 'club_signup', 'Locks the shift first, as app.sign_up does.'),
  ('app.count_signups()', 'club_signup', 'Writes the counter, which nobody else may.'),
  ('app.claim_key(text,bytea)', 'club_idempotency', 'Claims a key.'),
  ('app.keep_answer(text,smallint,text,text,text)', 'club_idempotency', 'Keeps the answer for the caller who asks again.'),
  ('app.delete_expired_answers()', 'club_expiry', 'Deletes what is older than 24 hours in all clubs; no request reads or deletes that.'),
  ('app.my_clubs()', 'club_directory', 'Reads the clubs that the token names, outside of any one club.'),
  ('app.provision_club(text,text,text,uuid)', 'club_operator', 'Makes a club, which no request may.'),
  ('app.rename_club(uuid,text,text)', 'club_operator', 'Changes a club, which no request may.'),
  ('app.close_club(uuid)', 'club_operator', 'Closes a club.'),
  ('app.reopen_club(uuid)', 'club_operator', 'Opens it again.'),
  ('app.forget_club(uuid)', 'club_operator', 'Removes a closed club.'),
  ('app.erase_member(uuid,uuid)', 'club_operator', 'Takes everything personal out of a member''s row.');
comment on view audit.intended_definers is 'The only functions that are SECURITY DEFINER. Their owners stay under row-level security.';
comment on column audit.intended_definers.function is 'Its signature.';
comment on column audit.intended_definers.owner is 'The capability role whose rights it uses.';
comment on column audit.intended_definers.why is 'Why the caller''s own rights are not enough.';

create view audit.intended_entrances (function, why) with (security_invoker) as values
  ('app.enter(uuid,text,app.club_role,text,text,timestamp with time zone,uuid)', 'Begins a request in a club.'),
  ('app.enter_directory(uuid[])', 'Begins a request in no single club.'),
  ('app.enter_as_operator(uuid)', 'An operator chooses the club.'),
  ('app.leave_as_operator(jsonb)', 'An operator leaves it, and the context is as it was.'),
  ('app.forget_club(uuid)', 'An operator removes a closed club.'),
  ('app.provision_club(text,text,text,uuid)', 'An operator makes the club.'),
  ('app.erase_member(uuid,uuid)', 'An operator chooses the member.');
comment on view audit.intended_entrances is 'The only functions that set the context.';
comment on column audit.intended_entrances.function is 'Its signature.';
comment on column audit.intended_entrances.why is 'When it does so.';

create view audit.intended_dynamic (function, why) with (security_invoker) as values
  ('app.forget_club(uuid)', 'Deletes from every table of the clubs, by the names that the catalog has.');
comment on view audit.intended_dynamic is 'The only functions that build statements from text.';
comment on column audit.intended_dynamic.function is 'Its signature.';
comment on column audit.intended_dynamic.why is 'What it builds, and of what.';

create view audit.intended_tenant_columns (relation, tenant_column, why) with (security_invoker) as values
  ('app.clubs', 'id'::name, 'A club is the tenant: its own id is the tenant''s.');
comment on view audit.intended_tenant_columns is 'The tables whose tenant is in another column than tenant_id.';
comment on column audit.intended_tenant_columns.relation is 'The table.';
comment on column audit.intended_tenant_columns.tenant_column is 'The column.';
comment on column audit.intended_tenant_columns.why is 'Why it is so.';

create view audit.intended_updates ("column", why) with (security_invoker) as values
  ('app.members.updated_at', 'When a token last changed the row.'),
  ('app.tasks.state', 'The step of the workflow, which app.guard_task holds.');
comment on view audit.intended_updates is 'The columns with a default that requests change. Any other default is for the server alone to write.';
comment on column audit.intended_updates."column" is 'The table and the column.';
comment on column audit.intended_updates.why is 'What changes it.';

create view audit.intended_reference_tables (relation, why) with (security_invoker) as values
  ('app.task_states', 'The states of the workflow, the same for every club.'),
  ('app.task_transitions', 'The steps of the workflow, the same for every club.'),
  ('deploy.migrations', 'Which migrations ran.'),
  ('deploy.migration_files', 'What they were when they ran.'),
  ('deploy.releases', 'Which releases were deployed.'),
  ('deploy.chapters', 'Which chapters were applied.'),
  ('deploy.facts', 'What the last deploy left behind, for audit.drift.');
comment on view audit.intended_reference_tables is 'The tables without a tenant: they hold nothing of any club, and nobody but the owner writes them.';
comment on column audit.intended_reference_tables.relation is 'The table.';
comment on column audit.intended_reference_tables.why is 'What it holds.';

create view audit.intended_floors (relation, role, using_expression, check_expression, why) with (security_invoker) as values
  ('app.clubs', 'club_directory'::name, '(id = ANY (( SELECT app.club_ids() AS club_ids)::uuid[]))', 'false',
   'The directory reaches the clubs that the token names, and writes nothing.'),
  ('app.idempotency_keys', 'club_expiry', '(created_at < (now() - ''24:00:00''::interval))', 'false',
   'Expiry reaches the answers of all clubs that are older than 24 hours, and writes nothing.');
comment on view audit.intended_floors is 'The floors that are not: the row''s tenant is the transaction''s.';
comment on column audit.intended_floors.relation is 'The table.';
comment on column audit.intended_floors.role is 'The role that it holds for.';
comment on column audit.intended_floors.using_expression is 'Which rows it lets the role reach.';
comment on column audit.intended_floors.check_expression is 'Which rows it lets the role write.';
comment on column audit.intended_floors.why is 'Why it is so.';

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
  ('CL003', 'The club is not closed.'),
  ('ME001', 'No such member.'),
  ('SH001', 'No such shift in this club.'),
  ('SH002', 'The shift has started.'),
  ('SH003', 'The member signed up already.'),
  ('SH004', 'Every place of the shift is taken.'),
  ('SH005', 'The member did not sign up.'),
  ('SH006', 'The shift has the last version there is.'),
  ('ID001', 'The idempotency key belongs to another request.'),
  ('TK001', 'The workflow has no such step.'),
  ('TK002', 'The step is not this caller''s.'),
  ('TK003', 'Only a Manager assigns a task to somebody else.'),
  ('TK004', 'The task has the last version there is.'),
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
