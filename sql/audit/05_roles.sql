-- Intent: the roles. Generated from sql/roles.sql by make snapshot; make verify fails when it is stale.

create view audit.intended_roles (role, can_login, purpose, why) with (security_invoker) as values
  ('club_migrator'::name, true, 'deploy', 'The login of the deploy. Member of the owner and of the capability roles; the running service never uses it.'),
  ('club_owner', false, 'owner', 'Owns every object of the service. No policy names it, so under FORCE ROW LEVEL SECURITY it sees no row.'),
  ('club_api', true, 'runtime', 'The login of the running service. Owns nothing, is a member of no role, and has the privileges that requests need, column by column.'),
  ('club_auditor', true, 'auditor', 'Reads the schema audit and no row of a club. For DBAs and for make audit.'),
  ('club_signup', false, 'capability', 'Owns the functions by which members sign up, cancel, wait and stop waiting: a row lock applies the UPDATE policies, and shifts_edit lets only Managers pass.'),
  ('club_idempotency', false, 'capability', 'Owns the functions that store responses for idempotency keys: club_api has no privilege on that table.'),
  ('club_expiry', false, 'capability', 'Owns app.delete_expired_answers. Its floor compares only the age of a stored response: it sees those of all clubs that are older than 24 hours.'),
  ('club_directory', false, 'capability', 'Owns app.my_clubs: a caller lists the clubs of the token before choosing one. Sees these clubs and the caller''s memberships in them, and nothing else.'),
  ('club_registry', false, 'capability', 'Owns app.list_clubs: an operator finds the id of a club. Its floor excludes no club, so it has four columns of one table, and only the owner calls its function.'),
  ('club_recorder', false, 'capability', 'Owns the functions that record and number events: no other role inserts an event. Sees the events of the club in which it records.'),
  ('club_roster', false, 'capability', 'Owns the functions by which Managers sign members up and off, let them wait, and delete batches: club_signup writes the caller''s own signup only.'),
  ('club_secretary', false, 'capability', 'Owns the functions by which Managers and Admins change other members: club_api updates the caller''s own row only.'),
  ('club_membership', false, 'capability', 'Owns app.set_membership, by which Admins end and renew memberships: the policies of club_secretary let Managers pass.'),
  ('club_places', false, 'capability', 'Owns the trigger functions that count signups and waits and give a free place to the first of the queue. Its policies ask for no role in the club, because any caller may free a place. app.erase_member calls app.withdraw_waits.'),
  ('club_calendar', false, 'capability', 'Owns app.read_calendar: a calendar link has no role in the club, so no policy of club_api lets it read. Sees one link, the signups of its member and their shifts.'),
  ('club_copy', false, 'capability', 'Owns app.read_member_data: the policies of club_api let a Viewer read no tasks, attendance and events, and no role read stored responses. Sees what is about the caller''s own member, and for an Admin what is about any member of the club.'),
  ('club_export', false, 'capability', 'Reads the rows of one club, which node dist/club.js writes to a file.'),
  ('club_import', false, 'capability', 'Inserts the rows of one club from a file, and reads them. No trigger of the service runs for it, so rows arrive as they were exported.'),
  ('club_operator', false, 'capability', 'Owns the functions for operators, such as app.provision_club.');
comment on view audit.intended_roles is 'The roles of the service. None has SUPERUSER, BYPASSRLS, CREATEROLE, CREATEDB or REPLICATION.';
