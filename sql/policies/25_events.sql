-- Events: who changed what.
--
-- A trigger on each recorded table calls app.record_event, which inserts the event in the transaction of the change. At COMMIT
-- a deferred trigger gives the events of the transaction the next numbers of their club. It increments the counter of the club,
-- and a row stays locked until its transaction is visible to others. So the numbers of a club are in the order of its commits,
-- without a gap: who has read up to an event misses none before it. A change that is rolled back leaves no event and no number.
--
-- Nothing may be locked after the counter, or two commits could wait for each other. So the audit has a finding for every other
-- deferrable trigger or constraint.
--
-- Both functions belong to club_recorder. It writes events of any club, because SQL without a context is recorded too, and its
-- floor is the transaction: it sees and writes what its own transaction recorded. The counter is under the floor of the club.
--
-- PostgreSQL runs the triggers of rows that a foreign key deletes after those of the row that it refers to: the deletion of a shift
-- is recorded before those of its signups. A migration that changes rows disables the trigger of the table around its statement.

comment on table app.events is 'What was changed in a club, by whom; written by triggers, in the transaction of the change.';
comment on column app.events.sequence is 'The number in the club, in the order of commits, without a gap. Null until COMMIT.';
comment on column app.events.type is 'The kind of the subject and what was done, such as task.created.';
comment on column app.events.at is 'When the change was made. It may run backwards from one number to the next.';
comment on column app.events.subject_id is 'The row that was changed; of a signup its shift. The id of a member stays when they are erased.';
comment on column app.events.subject_title is 'The title of a deleted row. Null if it has none, and once the member was erased who deleted it or whom it was about.';
comment on column app.events.actor_id is 'The member who made the change; null for SQL outside of a request. Stays when the member is erased: events have no personal data but ids.';
comment on column app.events.member_id is 'The member whom the change is about. Stays when the member is erased.';
comment on column app.events.changes is 'The changed fields whose values are shown, with the values before and after. The ids of members stay when they are erased.';
comment on column app.events.fields is 'The names of the changed fields whose values are not shown: free text, and status and minutes of attendance.';
comment on column app.events.transaction_id is 'The transaction that recorded the event, for the floor of club_recorder and for numbering.';
comment on column app.events.position is 'The order of the events of one transaction.';
comment on table app.event_counters is 'The number of the last event of a club. A transaction that records locks it in COMMIT, until it has ended.';
comment on column app.event_counters.oldest_sequence is 'The oldest event that app.forget_events has kept.';

alter table app.events alter column tenant_id set default app.tenant_id();
alter table app.events alter column id set default app.new_id();
alter table app.event_counters alter column tenant_id set default app.tenant_id();

grant select on app.events, app.event_counters to club_api;
grant select on app.events, app.event_counters to club_recorder;
grant insert (tenant_id, type, subject_id, subject_title, actor_id, member_id, changes, fields) on app.events to club_recorder;
grant update (sequence) on app.events to club_recorder;
grant insert (last_sequence) on app.event_counters to club_recorder;
grant update (last_sequence) on app.event_counters to club_recorder;
grant select (id, closed_at) on app.clubs to club_recorder;
grant select, delete on app.events, app.event_counters to club_operator;
grant update (subject_title) on app.events to club_operator;
grant update (oldest_sequence) on app.event_counters to club_operator;

alter table app.events enable row level security, force row level security;
alter table app.event_counters enable row level security, force row level security;

create policy events_floor on app.events as restrictive for all to club_api, club_operator
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy events_floor on app.events is 'Only events of the club of this transaction are visible and writable.';

create policy events_recorder_floor on app.events as restrictive for all to club_recorder
  using (transaction_id = pg_current_xact_id()) with check (transaction_id = pg_current_xact_id());
comment on policy events_recorder_floor on app.events is 'The recorder sees and writes what its own transaction recorded, of any club.';

create policy events_record on app.events for all to club_recorder
  using (transaction_id = pg_current_xact_id()) with check (transaction_id = pg_current_xact_id());
comment on policy events_record on app.events is 'Events are recorded and numbered in one transaction.';

create policy events_read on app.events for select to club_api
  using (sequence is not null and (select app.role()) >= 'Manager');
comment on policy events_read on app.events is 'Managers and higher roles read all events of the club.';

create policy events_read_own on app.events for select to club_api
  using (sequence is not null and member_id = (select app.member_id()) and (select app.role()) >= 'Member');
comment on policy events_read_own on app.events is 'A Member reads the events about themself.';

create policy events_find on app.events for select to club_operator
  using (tenant_id = (select app.tenant_id()));
comment on policy events_find on app.events is 'An operator finds the events to forget, and the titles to erase.';

create policy events_erase on app.events for update to club_operator
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy events_erase on app.events is 'An operator who erases a member clears titles; the grants of club_operator allow it to write nothing else.';

create policy events_forget on app.events for delete to club_operator
  using (tenant_id = (select app.tenant_id()));
comment on policy events_forget on app.events is 'An operator forgets old events, and those of a closed club.';

create policy event_counters_floor on app.event_counters as restrictive for all to public
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy event_counters_floor on app.event_counters is 'Only the counter of the club of this transaction is visible and writable.';

create policy event_counters_read on app.event_counters for select to club_api
  using ((select app.role()) >= 'Member');
comment on policy event_counters_read on app.event_counters is 'Members and higher roles read which events the club has.';

create policy event_counters_count on app.event_counters for all to club_recorder
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy event_counters_count on app.event_counters is 'Numbering locks and increments the counter.';

create policy event_counters_find on app.event_counters for select to club_operator
  using (tenant_id = (select app.tenant_id()));
comment on policy event_counters_find on app.event_counters is 'An operator reads the counter of the club whose events are forgotten.';

create policy event_counters_change on app.event_counters for update to club_operator
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy event_counters_change on app.event_counters is 'An operator writes which event is the oldest.';

create policy event_counters_forget on app.event_counters for delete to club_operator
  using (tenant_id = (select app.closed_club_id()));
comment on policy event_counters_forget on app.event_counters is 'An operator removes the counter of a closed club.';

create policy clubs_recorder_floor on app.clubs as restrictive for all to club_recorder
  using (id = (select app.closed_club_id())) with check (false);
comment on policy clubs_recorder_floor on app.clubs is 'The recorder sees only the club that an operator removes, and writes none.';

create policy clubs_removed on app.clubs for select to club_recorder
  using (closed_at is not null and id = (select app.closed_club_id()));
comment on policy clubs_removed on app.clubs is 'The removal of a closed club is not recorded.';

grant execute on function app.missing_context(text), app.tenant_id(), app.closed_club_id(), app.new_id() to club_recorder;

set local role club_recorder;

create or replace function app.record_event() returns trigger
-- Times are written in UTC, independent of the time zone of the session.
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
declare
  noun constant text := tg_argv[0];
  value_columns constant text[] := string_to_array(tg_argv[1], ', ');
  text_columns constant text[] := string_to_array(tg_argv[2], ', ');
  member_column constant text := tg_argv[3];
  subject_column constant text := coalesce(tg_argv[4], 'id');
  title_column constant text := coalesce(tg_argv[5], 'title');
  old_row constant jsonb := to_jsonb(old);
  new_row constant jsonb := to_jsonb(new);
  -- Before and after the change.
  sides jsonb[] := array[[old_row, new_row]];
  side jsonb[];
  known jsonb;
  club_id uuid;
  verb text;
  type text;
  member_id uuid;
  column_name text;
  old_value jsonb;
  new_value jsonb;
  field text;
  changes jsonb;
  fields text[];
begin
  if tg_op = 'UPDATE' and (
    old_row -> 'tenant_id' is distinct from new_row -> 'tenant_id'
    or old_row -> subject_column is distinct from new_row -> subject_column
    or member_column <> all (value_columns) and old_row -> member_column is distinct from new_row -> member_column
  ) then
    -- In SQL the row can become another one, such as the signup of another member: a deletion and a creation.
    sides := array[[old_row, null], [null, new_row]];
  end if;

  foreach side slice 1 in array sides loop
    known := coalesce(side[2], side[1]);
    club_id := coalesce(known ->> 'tenant_id', known ->> 'id');
    if side[2] is null and club_id::text = current_setting('app.closed_club_id', true) then
      -- app.forget_club removes a whole club, its events included. The setting alone does not suffice: anybody can make it.
      perform from app.clubs as club where club.id = club_id and club.closed_at is not null;
      continue when found;
    end if;

    verb := case when side[1] is null then 'created' when side[2] is null then 'deleted' else 'changed' end;
    changes := '{}';
    fields := '{}';
    foreach column_name in array value_columns || text_columns loop
      old_value := nullif(side[1] -> column_name, 'null');
      new_value := nullif(side[2] -> column_name, 'null');
      continue when old_value is not distinct from new_value;
      -- As the API names it: due_at is dueAt. With the collation of an ICU database no word begins after an underscore.
      field := left(column_name, 1) || substr(replace(initcap(column_name collate "C"), '_', ''), 2);
      if column_name = any (text_columns) then
        fields := fields || field;
      elsif column_name like '%\_at' then
        -- A column whose name ends with _at is a time.
        changes := changes || jsonb_build_object(field, jsonb_build_object(
          'from', replace(side[1] ->> column_name, '+00:00', 'Z'), 'to', replace(side[2] ->> column_name, '+00:00', 'Z')));
      else
        changes := changes || jsonb_build_object(field, jsonb_build_object('from', old_value, 'to', new_value));
      end if;
    end loop;

    -- Set by app.erase_member, once for each member.
    if noun = 'member' and verb = 'changed' and side[1] ->> 'erased_at' is null and side[2] ->> 'erased_at' is not null then
      verb := 'erased';
      changes := '{}';
    end if;
    continue when verb = 'changed' and changes = '{}' and fields = '{}';

    type := noun || '.' || verb;
    member_id := coalesce(side[2] ->> member_column, side[1] ->> member_column);
    insert into app.events (tenant_id, type, subject_id, subject_title, actor_id, member_id, changes, fields)
    values (
      club_id,
      type,
      (known ->> subject_column)::uuid,
      case verb when 'deleted' then side[1] ->> title_column end,
      case
        when type = 'member.created' then member_id
        -- The member of another club in the context is not shown to this one.
        when nullif(current_setting('app.tenant_id', true), '')::uuid = club_id and verb <> 'erased'
          then nullif(current_setting('app.member_id', true), '')::uuid
      end,
      member_id,
      changes,
      fields
    );
  end loop;
  return null;
end
$$;
comment on function app.record_event() is
  'Records the change of a row as an event. The arguments of its trigger: the noun of the type; the columns whose values are shown; those of which only the names are, in alphabetical order; the column of the member whom it is about, if any; the column of the subject, if not id; the column of its title, if not title. Columns are separated by a comma and a blank; all others are not recorded.';
grant execute on function app.record_event() to club_owner;

create or replace function app.number_events() returns trigger
-- Plans are kept, also those that were made while the table was small. Without sequential scans, and with each event updated by its primary
-- key, every plan reads the events of this transaction only.
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  context constant text := coalesce(current_setting('app.tenant_id', true), '');
  club_id uuid;
  number bigint;
  own record;
begin
  -- The first of the transaction numbers all. A later one has no number only if another deferred trigger recorded it since.
  if (select event.sequence from app.events as event where event.tenant_id = new.tenant_id and event.id = new.id) is not null then
    return null;
  end if;
  -- Clubs in the order of their ids, so that transactions in several clubs do not wait for each other.
  for own in
    select event.tenant_id, event.id, count(*) over (partition by event.tenant_id) as events
    from app.events as event
    where event.transaction_id = pg_current_xact_id() and event.sequence is null
    order by event.tenant_id, event.position
  loop
    if own.tenant_id is distinct from club_id then
      club_id := own.tenant_id;
      perform set_config('app.tenant_id', club_id::text, true);
      insert into app.event_counters as counter (last_sequence) values (own.events)
      on conflict (tenant_id) do update set last_sequence = counter.last_sequence + excluded.last_sequence
      returning counter.last_sequence - own.events into number;
    end if;
    number := number + 1;
    update app.events as event set sequence = number where event.tenant_id = own.tenant_id and event.id = own.id;
  end loop;
  perform set_config('app.tenant_id', context, true);
  return null;
end
$$;
comment on function app.number_events() is
  'Gives the events of this transaction the next numbers of their clubs, in the order of the changes. It locks the counter of each club until the transaction ends. 40001 at COMMIT: the transaction is REPEATABLE READ or SERIALIZABLE, and another one has recorded since it began.';
grant execute on function app.number_events() to club_owner;

set local role club_owner;

create constraint trigger events_number after insert on app.events
  deferrable initially deferred
  for each row execute function app.number_events();
comment on trigger events_number on app.events is 'Numbers the events of a transaction in its COMMIT.';

set local role club_operator;

create or replace function app.forget_events(club_id uuid, before timestamptz) returns bigint
-- STRICT: without a time it does nothing.
language plpgsql volatile strict security definer set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := app.enter_as_operator(club_id);
  oldest bigint;
  forgotten bigint;
begin
  oldest := coalesce(
    (select min(event.sequence) from app.events as event where event.at >= before),
    (select max(event.sequence) from app.events as event)
  );
  delete from app.events as event where event.sequence < oldest;
  get diagnostics forgotten = row_count;
  -- Last, because it locks the counter, for which commits of the club wait.
  update app.event_counters as counter set oldest_sequence = oldest where counter.oldest_sequence < oldest;
  perform app.leave_as_operator(context);
  return forgotten;
end
$$;
comment on function app.forget_events(uuid, timestamptz) is
  'Deletes the events of a club up to the first that is not older than the given time, except the last event of the club. Returns their number. For operators. CL002: no such club.';
grant execute on function app.forget_events(uuid, timestamptz) to club_owner;

set local role club_owner;
