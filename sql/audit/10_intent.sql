-- Intent: the intended objects and the exceptions to the rules, each with its reason.
--
-- The checks know the rules: every table has a tenant, a floor, and keys that begin with the tenant. This file lists
-- the rest. Each new line is a decision that the review of a change approves.

create view audit.intended_roles (role, can_login, purpose, why) with (security_invoker) as values
  ('club_owner'::name, false, 'owner', 'Owns every object. No policy names it, so under FORCE ROW LEVEL SECURITY it sees no row.'),
  ('club_migrator', true, 'deploy', 'The login of the deploy. Member of the owner and the capability roles; the running service never uses it.'),
  ('club_api', true, 'runtime', 'The login of the running service. Owns nothing, is a member of no role.'),
  ('club_auditor', true, 'auditor', 'Reads this schema and no row of a club.'),
  ('club_signup', false, 'capability', 'Owns the functions that create and cancel signups, and the counter: a row lock applies the UPDATE policies, and shifts_edit lets only Managers pass.'),
  ('club_idempotency', false, 'capability', 'Owns the functions that store responses for idempotency keys: club_api has no privilege on that table.'),
  ('club_expiry', false, 'capability', 'Owns the function that deletes expired responses of all clubs: its floor compares only their age.'),
  ('club_directory', false, 'capability', 'Owns app.my_clubs: a caller lists the clubs of the token before choosing one.'),
  ('club_registry', false, 'capability', 'Owns app.list_clubs: an operator finds the id of a club. Its floor excludes no club, so it has four columns of one table, and only the owner calls its function.'),
  ('club_recorder', false, 'capability', 'Owns the functions that record and number events: no other role inserts an event.'),
  ('club_roster', false, 'capability', 'Owns the functions by which Managers sign members up and off: club_signup writes the caller''s own signup only.'),
  ('club_calendar', false, 'capability', 'Owns app.read_calendar: a calendar link has no role in the club, so no policy of club_api lets it read.'),
  ('club_operator', false, 'capability', 'Owns the functions for operators, such as app.provision_club.');
comment on view audit.intended_roles is 'The roles of the service. None has SUPERUSER, BYPASSRLS, CREATEROLE, CREATEDB or REPLICATION.';
comment on column audit.intended_roles.role is 'The role.';
comment on column audit.intended_roles.can_login is 'Whether it logs in.';
comment on column audit.intended_roles.purpose is 'owner, deploy, runtime, auditor or capability.';
comment on column audit.intended_roles.why is 'Why it exists.';

create view audit.powerful_roles (role, why) with (security_invoker) as values
  ('pg_read_all_data'::name, 'Reads every table.'),
  ('pg_write_all_data', 'Writes every table.'),
  ('pg_read_server_files', 'Reads the files of the server, which contain the rows.'),
  ('pg_write_server_files', 'Writes the files of the server.'),
  ('pg_execute_server_program', 'Runs programs as the operating system user of the server.'),
  ('pg_maintain', 'Locks every table.'),
  ('pg_create_subscription', 'Writes rows of another server into tables.');
comment on view audit.powerful_roles is 'The roles of PostgreSQL whose members are beyond row-level security.';
comment on column audit.powerful_roles.role is 'The role; not every version has each of them.';
comment on column audit.powerful_roles.why is 'What its members may do.';

create view audit.intended_memberships (member, role, why) with (security_invoker) as
select 'club_migrator'::name, intended.role, 'A deploy creates the objects of ' || intended.role || ' as that role.'
from audit.intended_roles as intended
where intended.purpose in ('owner', 'capability');
comment on view audit.intended_memberships is 'The memberships between roles of the service.';
comment on column audit.intended_memberships.member is 'The member.';
comment on column audit.intended_memberships.role is 'The role that it may SET ROLE to.';
comment on column audit.intended_memberships.why is 'Why it is needed.';

create view audit.intended_settings (role, name, value, why) with (security_invoker) as values
  ('club_api'::name, 'search_path', 'app, pg_temp', 'A name resolves to an object of the service before a temporary one.'),
  ('club_api', 'timezone', 'UTC', 'Times are printed in UTC.'),
  ('club_api', 'statement_timeout', '5s', 'Ends a slow statement, so that its connection is free.'),
  ('club_api', 'lock_timeout', '3s', 'Ends a statement that waits for a lock.'),
  ('club_api', 'idle_in_transaction_session_timeout', '10s', 'Ends an abandoned transaction, which releases its locks.'),
  ('club_api', 'client_connection_check_interval', '500ms', 'Ends a statement whose client has disconnected.'),
  ('club_api', 'jit', 'off', 'Compiling the plan of a page takes longer than running it.'),
  ('club_api', 'plan_cache_mode', 'force_generic_plan', 'Planning a page takes longer than reading it.'),
  ('club_api', 'default_transaction_isolation', 'read committed', 'A call sees what was committed while it waited for a lock.'),
  ('club_api', 'default_transaction_read_only', 'off', 'A call is one statement without BEGIN, and writes.'),
  ('club_auditor', 'search_path', 'pg_catalog', 'A name resolves to an object of PostgreSQL and to no other.'),
  ('club_auditor', 'default_transaction_read_only', 'on', 'The auditor changes nothing.'),
  ('club_auditor', 'statement_timeout', '60s', 'Ends an audit that takes too long.'),
  ('club_auditor', 'idle_in_transaction_session_timeout', '60s', 'Ends an abandoned transaction, for which a deploy would wait.'),
  ('club_auditor', 'jit', 'off', 'Compiling the plan of audit.findings takes longer than running it.');
comment on view audit.intended_settings is 'The settings of the roles of the service (ALTER ROLE … SET). Any other is a finding.';
comment on column audit.intended_settings.role is 'The role.';
comment on column audit.intended_settings.name is 'The setting.';
comment on column audit.intended_settings.value is 'Its value, as the catalog has it.';
comment on column audit.intended_settings.why is 'Why it is set.';

create view audit.intended_accessors (function, setting, why) with (security_invoker) as values
  ('app.tenant_id()', 'app.tenant_id', 'The club of the transaction.'),
  ('app.user_id()', 'app.user_id', 'The subject of the caller''s token.'),
  ('app.role()', 'app.role', 'The caller''s role in the club.'),
  ('app.member_id()', 'app.member_id', 'The caller''s row in app.members.'),
  ('app.closed_club_id()', 'app.closed_club_id', 'The closed club that an operator removes.'),
  ('app.club_ids()', 'app.club_ids', 'The clubs of the token, before one is chosen.'),
  ('app.link_hash()', 'app.link_hash', 'The hash of the secret of a calendar link.'),
  ('app.shift_ids()', 'app.shift_ids', 'The shifts of the member of a calendar link.');
comment on view audit.intended_accessors is 'The only functions that policies call. Each is STABLE, runs as its caller and raises TN001 when its setting is missing.';
comment on column audit.intended_accessors.function is 'Its signature.';
comment on column audit.intended_accessors.setting is 'The setting that it reads.';
comment on column audit.intended_accessors.why is 'What it returns.';

create view audit.intended_definers (function, owner, why) with (security_invoker) as values
  ('app.sign_up(uuid)', 'club_signup'::name, 'Locks the shift. A row lock applies the UPDATE policies, and shifts_edit lets only Managers pass.'),
  ('app.cancel_sign_up(uuid)', 'club_signup', 'Locks the shift, as app.sign_up does.'),
  ('app.assign_sign_up(uuid,uuid)', 'club_roster', 'Signs a member up, which no policy of club_api allows.'),
  ('app.delete_batch(uuid,timestamp with time zone)', 'club_roster', 'Deletes the shifts of a batch: a Manager those that they created, which no policy of club_api allows.'),
  ('app.remove_sign_up(uuid,uuid)', 'club_roster', 'Cancels the signup of a member, which no policy of club_api allows.'),
  ('app.count_signups()', 'club_signup', 'Writes the counter, which no other role may write.'),
  ('app.claim_key(text,bytea)', 'club_idempotency', 'Writes a key to the table of keys, on which club_api has no privilege.'),
  ('app.keep_answer(text,smallint,text,text,text)', 'club_idempotency', 'Stores the response for a repeated request.'),
  ('app.delete_expired_answers()', 'club_expiry', 'Deletes stored responses of all clubs that are older than 24 hours.'),
  ('app.my_clubs()', 'club_directory', 'Reads the clubs of the token without a club in the context.'),
  ('app.list_clubs()', 'club_registry', 'Reads the names of all clubs, which no request may do.'),
  ('app.read_calendar(uuid,bytea)', 'club_calendar', 'Reads the shifts of a calendar link, which has no role in the club.'),
  ('app.record_event()', 'club_recorder', 'Inserts an event, which no other role may.'),
  ('app.number_events()', 'club_recorder', 'Numbers events, which no other role may.'),
  ('app.forget_events(uuid,timestamp with time zone)', 'club_operator', 'Deletes old events, which no request may.'),
  ('app.provision_club(text,text,text,uuid)', 'club_operator', 'Creates a club, which no request may do.'),
  ('app.rename_club(uuid,text,text)', 'club_operator', 'Changes a club, which no request may do.'),
  ('app.close_club(uuid)', 'club_operator', 'Closes a club.'),
  ('app.reopen_club(uuid)', 'club_operator', 'Reopens a club.'),
  ('app.forget_club(uuid)', 'club_operator', 'Removes a closed club.'),
  ('app.erase_member(uuid,uuid)', 'club_operator', 'Removes the personal data from a member''s row.');
comment on view audit.intended_definers is 'The only SECURITY DEFINER functions. Their owners stay under row-level security.';
comment on column audit.intended_definers.function is 'Its signature.';
comment on column audit.intended_definers.owner is 'The capability role whose privileges it uses.';
comment on column audit.intended_definers.why is 'Why the caller''s own privileges are not enough.';

create view audit.intended_entrances (function, why) with (security_invoker) as values
  ('app.enter(uuid,text,app.club_role,text,text,timestamp with time zone,uuid)', 'Begins a request in a club.'),
  ('app.enter_directory(uuid[])', 'Begins a request in no single club.'),
  ('app.enter_as_operator(uuid)', 'An operator chooses the club.'),
  ('app.leave_as_operator(jsonb)', 'Restores the context that was there before.'),
  ('app.read_calendar(uuid,bytea)', 'Enters with a calendar link, and restores the context that was there before.'),
  ('app.forget_club(uuid)', 'An operator removes a closed club.'),
  ('app.number_events()', 'Reaches the counter of each club whose events it numbers.'),
  ('app.provision_club(text,text,text,uuid)', 'An operator creates the club.'),
  ('app.erase_member(uuid,uuid)', 'An operator chooses the member.'),
  ('audit.preset_context()', 'Resets the context to read what the server presets, and restores it.');
comment on view audit.intended_entrances is 'The only functions that set the context.';
comment on column audit.intended_entrances.function is 'Its signature.';
comment on column audit.intended_entrances.why is 'When it does so.';

create view audit.intended_dynamic (function, why) with (security_invoker) as values
  ('app.forget_club(uuid)', 'Deletes from every table with a foreign key to app.clubs; it reads the names from the catalog.');
comment on view audit.intended_dynamic is 'The only functions that build statements from text.';
comment on column audit.intended_dynamic.function is 'Its signature.';
comment on column audit.intended_dynamic.why is 'What it builds, and from what.';

create view audit.intended_handlers (function, why) with (security_invoker) as values
  ('app.claim_key(text,bytea)', 'Gives the end of the wait for a request with the same key its own constraint.'),
  ('audit.collect_findings()', 'Reports a chapter that raises an error as a finding, and still reads the others.');
comment on view audit.intended_handlers is 'The only functions that catch errors.';
comment on column audit.intended_handlers.function is 'Its signature.';
comment on column audit.intended_handlers.why is 'Why it does so.';

create view audit.intended_volatilities (name, volatility, isolates, why) with (security_invoker) as values
  ('current_setting'::name, 'stable', true, 'The accessors read the context with it.'),
  ('set_config', 'volatile', true, 'app.enter sets the context with it.'),
  ('now', 'stable', true, 'Policies compare it.'),
  ('clock_timestamp', 'volatile', true, 'Orders events and writes times.'),
  ('pg_current_xact_id', 'stable', true, 'The recorder reaches the events of its own transaction.'),
  ('gen_random_uuid', 'volatile', true, 'Part of each new id.'),
  ('pg_current_wal_insert_lsn', 'volatile', false, 'Orders events.'),
  ('nextval', 'volatile', false, 'Numbers the migrations that ran.'),
  ('pg_total_relation_size', 'volatile', false, 'Decides when stored responses are deleted.'),
  ('format', 'stable', false, 'Writes messages and statements.'),
  ('to_json', 'stable', false, 'Writes a stored response.'),
  ('to_jsonb', 'stable', false, 'Reads the columns of a changed row.'),
  ('row_to_json', 'stable', false, 'Writes a stored response.'),
  ('jsonb_build_object', 'stable', false, 'Writes what an event and the detail of an error contain.'),
  ('jsonb_populate_record', 'stable', false, 'Applies a merge patch to a task.');
comment on view audit.intended_volatilities is 'The built-in functions that are not IMMUTABLE and that policies, defaults or functions of the service use.';
comment on column audit.intended_volatilities.name is 'The name; all functions in pg_catalog with it have the same volatility.';
comment on column audit.intended_volatilities.volatility is 'stable or volatile.';
comment on column audit.intended_volatilities.isolates is 'Whether the context, a policy, an id or the order of events depends on it.';
comment on column audit.intended_volatilities.why is 'What uses it.';

create view audit.intended_tenant_columns (relation, tenant_column, why) with (security_invoker) as values
  ('app.clubs', 'id'::name, 'A club is the tenant: its id is the tenant id.');
comment on view audit.intended_tenant_columns is 'The tables whose tenant column is not tenant_id.';
comment on column audit.intended_tenant_columns.relation is 'The table.';
comment on column audit.intended_tenant_columns.tenant_column is 'The column.';
comment on column audit.intended_tenant_columns.why is 'Why it is so.';

create view audit.intended_updates ("column", why) with (security_invoker) as values
  ('app.attendance.recorded_by_id', 'Who changed the record last; a policy requires the caller.'),
  ('app.members.updated_at', 'When a token last changed the row.'),
  ('app.tasks.state', 'The state in the workflow; app.guard_task checks each change.');
comment on view audit.intended_updates is 'The columns with a default that requests may write. All others with a default are written by the server only.';
comment on column audit.intended_updates."column" is 'The table and the column.';
comment on column audit.intended_updates.why is 'What changes it.';

create view audit.intended_reference_tables (relation, why) with (security_invoker) as values
  ('app.task_states', 'The states of the workflow, the same for every club.'),
  ('app.task_transitions', 'The steps of the workflow, the same for every club.'),
  ('deploy.migrations', 'Which migrations ran.'),
  ('deploy.migration_files', 'The hashes of the migrations when they ran.'),
  ('deploy.releases', 'Which releases were deployed.'),
  ('deploy.chapters', 'Which chapters were applied.'),
  ('deploy.facts', 'The facts after the last deploy, for audit.drift.'),
  ('deploy.approvals', 'The powers of roles and the provider that were approved with a deploy.');
comment on view audit.intended_reference_tables is 'The tables without a tenant. They have no data of a club, and only the owner writes them.';
comment on column audit.intended_reference_tables.relation is 'The table.';
comment on column audit.intended_reference_tables.why is 'What it contains.';

create view audit.intended_floors (relation, role, using_expression, check_expression, why) with (security_invoker) as values
  ('app.clubs', 'club_directory'::name, '(id = ANY (( SELECT app.club_ids() AS club_ids)::uuid[]))', 'false',
   'The directory reads the clubs of the token and writes nothing.'),
  ('app.clubs', 'club_registry', 'true', 'false',
   'The registry reads the names of all clubs and writes nothing.'),
  ('app.clubs', 'club_recorder', '(id = ( SELECT app.closed_club_id() AS closed_club_id))', 'false',
   'The recorder sees whether the club that an operator removes is closed.'),
  ('app.events', 'club_recorder', '(transaction_id = pg_current_xact_id())', '(transaction_id = pg_current_xact_id())',
   'SQL without a club in the context is recorded too. A transaction writes its own events, of any club.'),
  ('app.idempotency_keys', 'club_expiry', '(created_at < (now() - ''24:00:00''::interval))', 'false',
   'Expiry reads and deletes the stored responses of all clubs that are older than 24 hours, and writes none.');
comment on view audit.intended_floors is 'The floors that do not compare the row''s tenant with the tenant of the transaction.';
comment on column audit.intended_floors.relation is 'The table.';
comment on column audit.intended_floors.role is 'The role that it applies to.';
comment on column audit.intended_floors.using_expression is 'Which rows the role may read, update and delete.';
comment on column audit.intended_floors.check_expression is 'Which rows the role may write.';
comment on column audit.intended_floors.why is 'Why it is so.';

create view audit.intended_uniques (index, columns, why) with (security_invoker) as values
  ('app.clubs_pkey', array['id']::name[], 'A club is the tenant.'),
  ('app.clubs_slug_key', array['slug'], 'A slug is unique across all clubs. Only operators write it, so no caller learns from an error which slugs exist.');
comment on view audit.intended_uniques is 'The unique indexes without the tenant. With any other, an error would show one club which values another one has.';
comment on column audit.intended_uniques.index is 'The index.';
comment on column audit.intended_uniques.columns is 'Its columns.';
comment on column audit.intended_uniques.why is 'Why it may be unique across clubs.';

create view audit.intended_triggers (trigger, event, function, why) with (security_invoker) as values
  ('app.tasks.tasks_guard', 'BEFORE INSERT OR UPDATE', 'app.guard_task()', 'Enforces the workflow.'),
  ('app.shifts.shifts_stamp', 'BEFORE UPDATE', 'app.stamp_shift()', 'Writes the version.'),
  ('app.shift_signups.shift_signups_count', 'AFTER INSERT OR DELETE OR UPDATE OF tenant_id, shift_id', 'app.count_signups()', 'Maintains the counter.'),
  ('app.clubs.clubs_record', 'AFTER UPDATE', 'app.record_event(''club'', ''slug, time_zone'', ''name'')', 'Records events.'),
  ('app.members.members_record', 'AFTER INSERT OR UPDATE', 'app.record_event(''member'', ''role'', ''display_name, email'', ''id'')', 'Records events.'),
  ('app.tasks.tasks_record', 'AFTER INSERT OR DELETE OR UPDATE', 'app.record_event(''task'', ''state, assignee_id, due_at, completed_at'', ''description, title'', ''assignee_id'')', 'Records events.'),
  ('app.shifts.shifts_record', 'AFTER INSERT OR DELETE OR UPDATE', 'app.record_event(''shift'', ''starts_at, ends_at, capacity, batch_id'', ''description, location, title'')', 'Records events.'),
  ('app.shift_signups.shift_signups_record', 'AFTER INSERT OR DELETE OR UPDATE', 'app.record_event(''signup'', '''', '''', ''member_id'', ''shift_id'')', 'Records events.'),
  ('app.attendance.attendance_stamp', 'BEFORE UPDATE', 'app.stamp_attendance()', 'Writes the version.'),
  ('app.attendance.attendance_record', 'AFTER INSERT OR DELETE OR UPDATE', 'app.record_event(''attendance'', '''', ''minutes, status'', ''member_id'', ''shift_id'')', 'Records events.'),
  ('app.events.events_number', 'AFTER INSERT', 'app.number_events()', 'Numbers events in the order of commits.');
comment on view audit.intended_triggers is 'The triggers. All are FOR EACH ROW, without a WHEN condition.';
comment on column audit.intended_triggers.trigger is 'The table and the trigger.';
comment on column audit.intended_triggers.event is 'The events that it runs on.';
comment on column audit.intended_triggers.function is 'What it calls.';
comment on column audit.intended_triggers.why is 'What it does.';

create view audit.intended_deferrables (trigger, why) with (security_invoker) as values
  ('app.events.events_number', 'Numbers events in COMMIT. Nothing is locked after its counter, so no other trigger or constraint is deferrable.');
comment on view audit.intended_deferrables is 'The only constraint triggers; they are deferrable and initially deferred. No other constraint is deferrable.';
comment on column audit.intended_deferrables.trigger is 'The table and the trigger.';
comment on column audit.intended_deferrables.why is 'Why it is deferred.';

create view audit.intended_cascades (foreign_key, why) with (security_invoker) as values
  ('app.shift_signups.shift_signups_shift_fkey', 'The signups of a deleted shift are deleted with it.');
comment on view audit.intended_cascades is 'The only foreign keys that delete or change rows.';
comment on column audit.intended_cascades.foreign_key is 'The table and the constraint.';
comment on column audit.intended_cascades.why is 'Why it is so.';

create view audit.intended_codes (sqlstate, meaning) with (security_invoker) as values
  ('TN001', 'A setting of the context is missing in the transaction: the caller or the club.'),
  ('CL001', 'No such time zone.'),
  ('CL002', 'No such club.'),
  ('CL003', 'The club is not closed.'),
  ('ME001', 'No such member.'),
  ('AT001', 'The record of attendance has the last version there is.'),
  ('SH001', 'No such shift in this club.'),
  ('SH002', 'The shift has started.'),
  ('SH003', 'The member signed up already.'),
  ('SH004', 'Every place of the shift is taken.'),
  ('SH005', 'The member did not sign up.'),
  ('SH006', 'The shift has the last version there is.'),
  ('RO001', 'Only an Admin deletes shifts that others created, or with signups.'),
  ('ID001', 'The idempotency key belongs to another request.'),
  ('55P03', 'A request with the idempotency key is still running.'),
  ('TK001', 'The workflow has no such change of state or assignee.'),
  ('TK002', 'This caller may not make this change of state.'),
  ('TK003', 'Only a Manager assigns a task to somebody else.'),
  ('TK004', 'The task has another version than the caller expects, or the last one there is.'),
  ('TK005', 'The task is assigned to somebody else.'),
  ('TK006', 'No such task in this club.'),
  ('VE001', 'If-Match does not have the current version.'),
  ('AU001', 'The audit has findings.');
comment on view audit.intended_codes is 'Every SQLSTATE that a function raises, one for each reason.';
comment on column audit.intended_codes.sqlstate is 'The code.';
comment on column audit.intended_codes.meaning is 'The reason.';

create view audit.intended_extensions (extension, why) with (security_invoker) as values
  ('plpgsql'::name, 'The language of the functions; part of PostgreSQL.'),
  ('pg_stat_statements', 'Counts statements, without their parameters.');
comment on view audit.intended_extensions is 'The extensions that are not findings. The service needs none but plpgsql.';
comment on column audit.intended_extensions.extension is 'The extension.';
comment on column audit.intended_extensions.why is 'What it does.';

-- A provider has its own roles that read every row; a customer cannot revoke that. A deploy with PROVIDER=rds excuses those of rds.
create view audit.provider_roles (role, provider) with (security_invoker) as values
  ('rdsadmin'::name, 'rds'), ('rds_superuser', 'rds'), ('rds_replication', 'rds'), ('rdsrepladmin', 'rds'), ('rdstopmgr', 'rds'),
  ('cloudsqladmin', 'cloudsql'), ('cloudsqlsuperuser', 'cloudsql'), ('cloudsqlagent', 'cloudsql'), ('cloudsqlimportexport', 'cloudsql'),
  ('cloudsqllogical', 'cloudsql'), ('cloudsqlreplica', 'cloudsql'),
  ('alloydbadmin', 'alloydb'), ('alloydbsuperuser', 'alloydb'), ('alloydbagent', 'alloydb'), ('alloydbimportexport', 'alloydb'),
  ('alloydbreplica', 'alloydb'),
  ('azuresu', 'azure'), ('azure_superuser', 'azure'), ('azure_pg_admin', 'azure'), ('replication', 'azure'),
  ('supabase_admin', 'supabase'), ('supabase_replication_admin', 'supabase'), ('supabase_read_only_user', 'supabase'),
  ('supabase_etl_admin', 'supabase'), ('supabase_auth_admin', 'supabase'), ('supabase_functions_admin', 'supabase'),
  ('supabase_storage_admin', 'supabase'), ('dashboard_user', 'supabase'), ('service_role', 'supabase'), ('authenticator', 'supabase'),
  ('authenticated', 'supabase'), ('anon', 'supabase'), ('pgbouncer', 'supabase'),
  ('neon_superuser', 'neon'), ('neon_service', 'neon'), ('cloud_admin', 'neon'),
  ('doadmin', 'digitalocean'), ('doadmin_group', 'digitalocean'), ('_doadmin_managed', 'digitalocean'), ('_dodb', 'digitalocean'),
  ('_dodb_repl', 'digitalocean'),
  ('avnadmin', 'aiven'), ('avnadmin_group', 'aiven'), ('_avnadmin_managed', 'aiven'), ('aiven_admin', 'aiven');
comment on view audit.provider_roles is 'Roles of providers of managed PostgreSQL. The privileges of those that a deploy has excused (audit.excused_roles) are listed in audit.notes and are not findings.';
comment on column audit.provider_roles.role is 'The role.';
comment on column audit.provider_roles.provider is 'The provider, as in PROVIDER.';

-- The releases of 2025-08-14 fixed CVE-2025-8713: statistics could show rows of a table under row-level security.
-- Earlier ones about policies: CVE-2024-10976 (a plan that was reused after a change of role applied the policies of the
-- wrong role), CVE-2023-39418 (MERGE), CVE-2023-2455.
create view audit.intended_versions (major, minimum, why) with (security_invoker) as values
  (15, 150014, 'CVE-2025-8713: statistics can show rows that row-level security hides.'),
  (16, 160010, 'CVE-2025-8713: statistics can show rows that row-level security hides.'),
  (17, 170006, 'CVE-2025-8713: statistics can show rows that row-level security hides.');
comment on view audit.intended_versions is 'The oldest minor version of each major release without a known vulnerability in row-level security.';
comment on column audit.intended_versions.major is 'The major version.';
comment on column audit.intended_versions.minimum is 'As in server_version_num.';
comment on column audit.intended_versions.why is 'The vulnerability of older versions.';
