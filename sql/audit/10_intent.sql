-- Intent: the intended objects and the exceptions to the rules, each with its reason.
--
-- The rules are in the files that follow: every table has a tenant, a floor, and keys that begin with the tenant. This file lists
-- the rest. Each new line is a decision that the review of a change approves.

create view audit.powerful_roles (role, why) with (security_invoker) as values
  ('pg_read_all_data'::name, 'Reads every table.'),
  ('pg_write_all_data', 'Writes every table.'),
  ('pg_read_server_files', 'Reads the files of the server, which contain the rows.'),
  ('pg_write_server_files', 'Writes the files of the server.'),
  ('pg_execute_server_program', 'Runs programs as the operating system user of the server.'),
  ('pg_maintain', 'Locks every table.'),
  ('pg_create_subscription', 'Writes rows of another server into tables.');
comment on view audit.powerful_roles is 'The roles of PostgreSQL whose members are beyond row-level security.';

create view audit.intended_accessors (function, setting, why) with (security_invoker) as values
  ('app.tenant_id()', 'app.tenant_id', 'The club of the transaction.'),
  ('app.user_id()', 'app.user_id', 'The subject of the caller''s token.'),
  ('app.role()', 'app.role', 'The caller''s role in the club.'),
  ('app.member_id()', 'app.member_id', 'The caller''s row in app.members.'),
  ('app.closed_club_id()', 'app.closed_club_id', 'The closed club that an operator removes.'),
  ('app.event_club_id()', 'app.event_club_id', 'The club in which a transaction records an event.'),
  ('app.club_ids()', 'app.club_ids', 'The clubs of the token, before one is chosen.'),
  ('app.link_hash()', 'app.link_hash', 'The hash of the secret of a calendar link.'),
  ('app.shift_ids()', 'app.shift_ids', 'The shifts of the member of a calendar link.');
comment on view audit.intended_accessors is 'The only functions that policies call. Each is STABLE, runs as its caller and raises TN001 when its setting is missing.';

create view audit.intended_definers (function, owner, why) with (security_invoker) as values
  ('app.sign_up(uuid)', 'club_signup'::name, 'Locks the shift. A row lock applies the UPDATE policies, and shifts_edit lets only Managers pass.'),
  ('app.cancel_sign_up(uuid)', 'club_signup', 'Locks the shift, as app.sign_up does.'),
  ('app.patch_member(uuid,jsonb)', 'club_secretary', 'Changes another member, which no policy of club_api allows.'),
  ('app.delete_member(uuid)', 'club_secretary', 'Deletes a member, which no policy of club_api allows.'),
  ('app.set_membership(uuid,text)', 'club_membership', 'Ends and renews the membership of another member, which no policy of club_api allows.'),
  ('app.merge_members(uuid,uuid)', 'club_secretary', 'Changes what names the member, and deletes the member, which no policy of club_api allows.'),
  ('app.assign_sign_up(uuid,uuid)', 'club_roster', 'Signs a member up, which no policy of club_api allows.'),
  ('app.delete_batch(uuid,timestamp with time zone)', 'club_roster', 'Deletes the shifts of a batch: a Manager those that they created, which no policy of club_api allows.'),
  ('app.remove_sign_up(uuid,uuid)', 'club_roster', 'Cancels the signup of a member, which no policy of club_api allows.'),
  ('app.wait_for_place(uuid)', 'club_signup', 'Locks the shift, as app.sign_up does.'),
  ('app.stop_waiting(uuid)', 'club_signup', 'Locks the shift, as app.sign_up does.'),
  ('app.queue_position(app.shift_waits)', 'club_signup', 'Counts the waits before one; Members read only their own.'),
  ('app.assign_wait(uuid,uuid)', 'club_roster', 'Lets a member wait, which no policy of club_api allows.'),
  ('app.remove_wait(uuid,uuid)', 'club_roster', 'Ends the wait of a member, which no policy of club_api allows.'),
  ('app.count_signup()', 'club_places', 'Writes the counters, which no other role may write.'),
  ('app.release_place()', 'club_places', 'Writes the counters, which no other role may write.'),
  ('app.count_waits()', 'club_places', 'Writes the counters, which no other role may write.'),
  ('app.refill_shift()', 'club_places', 'Signs up the first of the queue, for every caller who frees a place.'),
  ('app.withdraw_waits(uuid)', 'club_places', 'Ends the waits of a member who is erased.'),
  ('app.claim_key(text,bytea)', 'club_idempotency', 'Writes a key to the table of keys, on which club_api has no privilege.'),
  ('app.keep_answer(text,smallint,text,text,text)', 'club_idempotency', 'Stores the response for a repeated request.'),
  ('app.delete_expired_answers()', 'club_expiry', 'Deletes stored responses of all clubs that are older than 24 hours.'),
  ('app.my_clubs()', 'club_directory', 'Reads the clubs of the token without a club in the context.'),
  ('app.list_clubs()', 'club_registry', 'Reads the names of all clubs, which no request may do.'),
  ('app.read_calendar(uuid,bytea)', 'club_calendar', 'Reads the shifts of a calendar link, which has no role in the club.'),
  ('app.read_member_data(uuid)', 'club_copy', 'Reads what is about a member for the copy of their data, which no policy of club_api allows every role.'),
  ('app.record_event()', 'club_recorder', 'Inserts an event, which no other role may.'),
  ('app.number_events()', 'club_recorder', 'Numbers events, which no other role may.'),
  ('app.oldest_event()', 'club_recorder', 'Reads the number of the oldest event, also for Members, who read only events about themselves.'),
  ('app.forget_events(uuid,timestamp with time zone)', 'club_operator', 'Deletes old events, which no request may.'),
  ('app.provision_club(text,text,text,uuid)', 'club_operator', 'Creates a club, which no request may do.'),
  ('app.rename_club(uuid,text,text)', 'club_operator', 'Changes a club, which no request may do.'),
  ('app.close_club(uuid)', 'club_operator', 'Closes a club.'),
  ('app.reopen_club(uuid)', 'club_operator', 'Reopens a club.'),
  ('app.forget_club(uuid,interval)', 'club_operator', 'Removes a closed club.'),
  ('app.list_moves()', 'club_registry', 'Reads which clubs move, which no request may do.'),
  ('app.begin_move(uuid,uuid,text)', 'club_operator', 'Begins to move a club to another database.'),
  ('app.end_move(uuid,uuid)', 'club_operator', 'Says that a club has moved.'),
  ('app.open_club(uuid,uuid)', 'club_operator', 'Opens a club that has arrived.'),
  ('app.abort_move(uuid,uuid)', 'club_operator', 'Ends the move of a club.'),
  ('app.erase_member(uuid,uuid)', 'club_operator', 'Removes the personal data from a member''s row.');
comment on view audit.intended_definers is 'The only SECURITY DEFINER functions. Their owners stay under row-level security.';

create view audit.intended_tenant_columns (relation, tenant_column, why) with (security_invoker) as values
  ('app.clubs', 'id'::name, 'A club is the tenant: its id is the tenant id.');
comment on view audit.intended_tenant_columns is 'The tables whose tenant column is not tenant_id.';

create view audit.intended_reference_tables (relation, why) with (security_invoker) as values
  ('app.task_states', 'The states of the workflow, the same for every club.'),
  ('app.task_transitions', 'The steps of the workflow, the same for every club.'),
  ('deploy.migrations', 'Which migrations ran.'),
  ('deploy.migration_files', 'The hashes of the migrations when they ran.'),
  ('deploy.releases', 'Which releases were deployed.'),
  ('deploy.chapters', 'Which chapters were applied.'),
  ('deploy.facts', 'The facts after the last deploy, for audit.drift.'),
  ('deploy.approvals', 'The powers and objects of roles outside of the service that were approved with a deploy.');
comment on view audit.intended_reference_tables is 'The tables without a tenant. They have no data of a club, and only the owner writes them.';

create view audit.intended_floors (relation, role, using_expression, check_expression, why) with (security_invoker) as values
  ('app.clubs', 'club_directory'::name, '(id = ANY (( SELECT app.club_ids() AS club_ids)::uuid[]))', 'false',
   'The directory reads the clubs of the token and writes nothing.'),
  ('app.members', 'club_directory',
   '((external_user_id = ( SELECT app.user_id() AS user_id)) AND (tenant_id = ANY (( SELECT app.club_ids() AS club_ids)::uuid[])))', 'false',
   'The directory reads the caller''s memberships in the clubs of the token and writes nothing.'),
  ('app.clubs', 'club_registry', 'true', 'false',
   'The registry reads the names of all clubs and writes nothing.'),
  ('app.clubs', 'club_recorder', '(id = ( SELECT app.closed_club_id() AS closed_club_id))', 'false',
   'The recorder sees whether the club that an operator removes is closed.'),
  ('app.events', 'club_recorder', '(tenant_id = app.event_club_id())', '(tenant_id = app.event_club_id())',
   'SQL without a club in the context is recorded too: the recorder sets the club of the changed row.'),
  ('app.idempotency_keys', 'club_expiry', '(created_at < (now() - ''24:00:00''::interval))', 'false',
   'Expiry reads and deletes the stored responses of all clubs that are older than 24 hours, and writes none.');
comment on view audit.intended_floors is 'The floors that do not compare the row''s tenant with the tenant of the transaction.';

create view audit.intended_uniques (index, columns, why) with (security_invoker) as values
  ('app.clubs_pkey', array['id']::name[], 'A club is the tenant.'),
  ('app.clubs_slug_key', array['slug'], 'A slug is unique across all clubs. Only operators write it, so no caller learns from an error which slugs exist.');
comment on view audit.intended_uniques is 'The unique indexes without the tenant. With any other, an error would show one club which values another one has.';

create view audit.intended_extensions (extension, why) with (security_invoker) as values
  ('plpgsql'::name, 'The language of the functions; part of PostgreSQL.'),
  ('pg_stat_statements', 'Counts statements, without their parameters.');
comment on view audit.intended_extensions is 'The extensions that are not findings. The service needs none but plpgsql.';

-- The releases of 2025-08-14 fixed CVE-2025-8713: statistics could show rows of a table under row-level security.
-- Earlier ones about policies: CVE-2024-10976 (a plan that was reused after a change of role applied the policies of the
-- wrong role), CVE-2023-39418 (MERGE), CVE-2023-2455.
create view audit.intended_versions (major, minimum, why) with (security_invoker) as values
  (15, 150014, 'CVE-2025-8713: statistics can show rows that row-level security hides.'),
  (16, 160010, 'CVE-2025-8713: statistics can show rows that row-level security hides.'),
  (17, 170006, 'CVE-2025-8713: statistics can show rows that row-level security hides.');
comment on view audit.intended_versions is 'The oldest minor version of each major release without a known vulnerability in row-level security.';
