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
  ('app.club_ids()', 'app.club_ids', 'The clubs that the token names, before one is chosen.');
comment on view audit.intended_accessors is 'The only functions that policies call. Each is STABLE, runs as its caller and raises TN001 when its setting is missing.';
comment on column audit.intended_accessors.function is 'Its signature.';
comment on column audit.intended_accessors.setting is 'The setting that it reads.';
comment on column audit.intended_accessors.why is 'What it says.';

create view audit.intended_definers (function, owner, why) with (security_invoker) as values
  ('app.sign_up(uuid)', 'club_signup'::name, 'Locks the shift, which needs an UPDATE right that no Member has.'),
  ('app.cancel_sign_up(uuid)', 'club_signup', 'Locks the shift first, as app.sign_up does.'),
  ('app.count_signups()', 'club_signup', 'Writes the counter, which nobody else may.'),
  ('app.claim_key(text,bytea)', 'club_idempotency', 'Claims a key, and clears old ones of the club away.'),
  ('app.keep_answer(text,smallint,text,text,text)', 'club_idempotency', 'Keeps the answer for the caller who asks again.'),
  ('app.my_clubs()', 'club_directory', 'Reads the clubs that the token names, outside of any one club.'),
  ('app.provision_club(text,text,text,uuid)', 'club_operator', 'Makes a club, which no request may.'),
  ('app.rename_club(uuid,text,text)', 'club_operator', 'Changes a club, which no request may.'),
  ('app.close_club(uuid)', 'club_operator', 'Closes a club.'),
  ('app.reopen_club(uuid)', 'club_operator', 'Opens it again.'),
  ('app.erase_member(uuid,uuid)', 'club_operator', 'Takes everything personal out of a member''s row.');
comment on view audit.intended_definers is 'The only functions that are SECURITY DEFINER. Their owners stay under row-level security.';
comment on column audit.intended_definers.function is 'Its signature.';
comment on column audit.intended_definers.owner is 'The capability role whose rights it uses.';
comment on column audit.intended_definers.why is 'Why the caller''s own rights are not enough.';

create view audit.intended_entrances (function, why) with (security_invoker) as values
  ('app.enter(uuid,text,app.club_role,text,text,timestamp with time zone,uuid)', 'Begins a request in a club.'),
  ('app.enter_directory(uuid[])', 'Begins a request in no single club.'),
  ('app.operate_on(uuid)', 'An operator chooses the club.'),
  ('app.provision_club(text,text,text,uuid)', 'An operator makes the club.'),
  ('app.erase_member(uuid,uuid)', 'An operator chooses the member.');
comment on view audit.intended_entrances is 'The only functions that set the context.';
comment on column audit.intended_entrances.function is 'Its signature.';
comment on column audit.intended_entrances.why is 'When it does so.';

create view audit.intended_tenant_columns (relation, tenant_column, why) with (security_invoker) as values
  ('app.clubs', 'id'::name, 'A club is the tenant: its own id is the tenant''s.');
comment on view audit.intended_tenant_columns is 'The tables whose tenant is in another column than tenant_id.';
comment on column audit.intended_tenant_columns.relation is 'The table.';
comment on column audit.intended_tenant_columns.tenant_column is 'The column.';
comment on column audit.intended_tenant_columns.why is 'Why it is so.';

create view audit.intended_reference_tables (relation, why) with (security_invoker) as values
  ('app.task_states', 'The states of the workflow, the same for every club.'),
  ('app.task_transitions', 'The steps of the workflow, the same for every club.'),
  ('deploy.migrations', 'Which migrations ran.'),
  ('deploy.migration_files', 'What they were when they ran.'),
  ('deploy.releases', 'Which releases were deployed.'),
  ('deploy.facts', 'What the last deploy left behind, for audit.drift.');
comment on view audit.intended_reference_tables is 'The tables without a tenant: they hold nothing of any club, and nobody but the owner writes them.';
comment on column audit.intended_reference_tables.relation is 'The table.';
comment on column audit.intended_reference_tables.why is 'What it holds.';

create view audit.intended_floors (relation, role, using_expression, check_expression, why) with (security_invoker) as values
  ('app.clubs', 'club_directory'::name, '(id = ANY (( SELECT app.club_ids() AS club_ids)::uuid[]))', 'false',
   'The directory reaches the clubs that the token names, and writes nothing.');
comment on view audit.intended_floors is 'The floors that are not: the row''s tenant is the transaction''s.';
comment on column audit.intended_floors.relation is 'The table.';
comment on column audit.intended_floors.role is 'The role that it holds for.';
comment on column audit.intended_floors.using_expression is 'Which rows it lets the role reach.';
comment on column audit.intended_floors.check_expression is 'Which rows it lets the role write.';
comment on column audit.intended_floors.why is 'Why it is so.';
