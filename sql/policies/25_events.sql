-- Events: who changed what.
--
-- A trigger on each recorded table calls app.record_event, which inserts the event in the transaction of the change. At COMMIT
-- a deferred trigger gives each event the number after the last one of its club. It locks the numbers of the club by an advisory
-- lock, which PostgreSQL releases after the transaction is visible to others. So the numbers of a club are in the order of its
-- commits, without a gap: who has read up to an event misses none before it. A change that is rolled back leaves no event and no number.
--
-- The keys of advisory locks are hashes of the club's id: with seed 1 of its numbers; with seed 0 a lock that transactions share when
-- they record, and that those who erase or remove take alone. Nothing may be locked after the numbers, or two commits could wait for
-- each other. So the audit has a finding for every other deferrable trigger or constraint.
--
-- Both functions belong to club_recorder. They record SQL without a context too, so the floor of the role compares with
-- app.event_club_id, which they set, instead of the club of the context. If a transaction records in several clubs, they list these in
-- app.event_clubs. A caller who sets either by hand prevents no event: a wrong value fails the transaction, or is replaced.
--
-- PostgreSQL runs the triggers of rows that a foreign key deletes after those of the row that it refers to: the deletion of a shift
-- is recorded before those of its signups. A migration that changes rows disables the trigger of the table around its statement.

comment on table app.events is 'What was changed in a club, by whom; written by triggers, in the transaction of the change.';
comment on column app.events.sequence is 'The number in the club, in the order of commits, without a gap. Null until COMMIT.';
comment on column app.events.type is 'The kind of the subject and what was done, such as task.created.';
comment on column app.events.at is 'When the change was made. It may run backwards from one number to the next.';
comment on column app.events.subject_id is 'The row that was changed; of a signup its shift. The id of a member stays when they are erased.';
comment on column app.events.subject_title is 'The title of a deleted row. Null if it has none, once the member was erased who deleted it or whom it was about, and once the member whom it was about was deleted or merged.';
comment on column app.events.actor_id is 'The member who made the change; null for SQL outside of a request. Stays when the member is erased: events have no personal data but ids.';
comment on column app.events.member_id is 'The member whom the change is about. Stays when the member is erased.';
comment on column app.events.changes is 'The changed fields whose values are shown, with the values before and after. The ids of members stay when they are erased.';
comment on column app.events.fields is 'The names of the changed fields whose values are not shown: free text, and status and minutes of attendance.';
alter table app.events alter column tenant_id set default app.tenant_id();
alter table app.events alter column id set default app.new_id();

grant select on app.events to club_api, club_recorder;
grant insert (tenant_id, type, subject_id, subject_title, actor_id, member_id, changes, fields) on app.events to club_recorder;
grant update (sequence) on app.events to club_recorder;
grant select (id, closed_at) on app.clubs to club_recorder;
grant select, delete on app.events to club_operator;
grant update (subject_title) on app.events to club_operator;

alter table app.events enable row level security, force row level security;

create policy events_floor on app.events as restrictive for all to club_api, club_copy, club_secretary, club_operator, club_export, club_import
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy events_floor on app.events is 'Only events of the club of this transaction are visible and writable.';

-- Not (select …), which would start a query for the one row that a statement of the recorder reads or writes.
create policy events_recorder_floor on app.events as restrictive for all to club_recorder
  using (tenant_id = app.event_club_id()) with check (tenant_id = app.event_club_id());
comment on policy events_recorder_floor on app.events is 'The recorder sees and writes only events of the club in which it records.';

create policy events_record on app.events for all to club_recorder
  using (tenant_id = app.event_club_id()) with check (tenant_id = app.event_club_id());
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

create policy clubs_recorder_floor on app.clubs as restrictive for all to club_recorder
  using (id = (select app.closed_club_id())) with check (false);
comment on policy clubs_recorder_floor on app.clubs is 'The recorder sees only the club that an operator removes, and writes none.';

create policy clubs_removed on app.clubs for select to club_recorder
  using (closed_at is not null and id = (select app.closed_club_id()));
comment on policy clubs_removed on app.clubs is 'The removal of a closed club is not recorded.';

grant execute on function app.missing_context(text), app.tenant_id(), app.role(), app.closed_club_id(), app.event_club_id(), app.new_id()
to club_recorder;

set local role club_recorder;

create or replace function app.record_event() returns trigger
-- Times are written in UTC, independent of the time zone of the session. PL/pgSQL prepares each expression that it reaches again in each
-- transaction, which takes longer than its evaluation: so what is rare is in branches.
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
declare
  subject_column constant text := coalesce(tg_argv[4], 'id');
  before jsonb;
  after jsonb;
  -- The new row, if it is another one, while the deletion of the old one is recorded.
  other jsonb;
  verb text := 'changed';
  columns text := concat_ws(', ', tg_argv[1], tg_argv[2]);
  club_id uuid;
  column_name text;
  field text;
  changes jsonb := '{}';
  fields text[] := '{}';
  recorded text;
  clubs text;
  setting text;
begin
  if tg_op = 'UPDATE' then
    if tg_argv[0] = 'shift' then
      -- Each signup updates the counter of its shift. What is recorded changes the version (app.stamp_shift), or one of the others.
      -- Not UPDATE OF the columns in the trigger: it would prevent that a migration changes the type of one.
      if (new.version, new.batch_id, new.id, new.tenant_id) is not distinct from (old.version, old.batch_id, old.id, old.tenant_id) then
        return null;
      end if;
    end if;
    -- Those that make a row another one too.
    columns := concat_ws(', ', columns, 'tenant_id', subject_column, tg_argv[3]);
  else
    verb := case tg_op when 'INSERT' then 'created' else 'deleted' end;
  end if;
  before := to_jsonb(old);
  after := to_jsonb(new);
  loop
    foreach column_name in array string_to_array(columns, ', ') loop
      continue when before ->> column_name is not distinct from after ->> column_name;
      field := column_name;
      if field like '%\_%' then
        -- As the API names it: due_at is dueAt. With the collation of an ICU database no word begins after an underscore.
        field := left(field, 1) || substr(replace(initcap(field collate "C"), '_', ''), 2);
      end if;
      if column_name = any (string_to_array(tg_argv[2], ', ')) then
        fields := fields || field;
      elsif column_name <> all (string_to_array(tg_argv[1], ', ')) then
        -- In SQL the row can become another one, such as the signup of another member: a deletion and a creation.
        other := after;
      elsif column_name like any (array['%\_at', '%\_until']) then
        -- A column whose name ends with _at or _until is a time.
        changes := changes || jsonb_build_object(field, jsonb_build_object(
          'from', replace(before ->> column_name, '+00:00', 'Z'), 'to', replace(after ->> column_name, '+00:00', 'Z')));
      else
        changes := changes || jsonb_build_object(field, jsonb_build_object('from', before -> column_name, 'to', after -> column_name));
      end if;
    end loop;

    club_id := coalesce(after ->> 'tenant_id', before ->> 'tenant_id', after ->> 'id');
    if verb = 'changed' then
      if other is not null then
        verb := 'deleted';
        columns := concat_ws(', ', tg_argv[1], tg_argv[2]);
        after := null;
        changes := '{}';
        fields := '{}';
        continue;
      elsif changes = '{}' and fields = '{}' then
        return null;
      elsif tg_argv[0] = 'member' then
        if changes ? 'leftAt' then
          -- What the API shows of it.
          changes := changes - 'leftAt' || jsonb_build_object('status', jsonb_build_object(
            'from', case when before -> 'left_at' = 'null' then 'Active' else 'Left' end,
            'to', case when after -> 'left_at' = 'null' then 'Active' else 'Left' end));
        end if;
        -- Set by app.erase_member, once for each member.
        if before ->> 'erased_at' is null and after ->> 'erased_at' is not null then
          verb := 'erased';
          changes := '{}';
        end if;
      end if;
    elsif verb = 'deleted' then
      if tg_argv[0] = 'member' then
        changes := changes - 'leftAt';
      end if;
      if club_id::text = current_setting('app.closed_club_id', true) then
        -- app.forget_club removes a whole club, its events included. The setting alone does not suffice: anybody can make it.
        perform from app.clubs as club where club.id = club_id and club.closed_at is not null;
        if found then
          return null;
        end if;
      end if;
    end if;

    -- Those who erase or remove wait for the end of the transaction.
    setting := pg_advisory_xact_lock_shared(uuid_hash_extended(club_id, 0));
    recorded := current_setting('app.event_club_id', true);
    if recorded is distinct from club_id::text then
      if recorded <> '' then
        clubs := coalesce(current_setting('app.event_clubs', true), '');
        if strpos(clubs, club_id::text) = 0 then
          setting := set_config('app.event_clubs', concat_ws(',', nullif(clubs, ''), recorded, club_id), true);
        end if;
      end if;
      setting := set_config('app.event_club_id', club_id::text, true);
    end if;
    insert into app.events (tenant_id, type, subject_id, subject_title, actor_id, member_id, changes, fields)
    values (
      club_id,
      tg_argv[0] || '.' || verb,
      coalesce(after ->> subject_column, before ->> subject_column)::uuid,
      case verb when 'deleted' then before ->> coalesce(tg_argv[5], 'title') end,
      case
        -- Whose first request it was. A member without a login was entered by another one.
        when tg_argv[0] || '.' || verb = 'member.created' and after ->> 'external_user_id' is not null then (after ->> 'id')::uuid
        -- The member of another club in the context is not shown to this one.
        when nullif(current_setting('app.tenant_id', true), '')::uuid = club_id and verb <> 'erased'
          then nullif(current_setting('app.member_id', true), '')::uuid
      end,
      coalesce(after ->> tg_argv[3], before ->> tg_argv[3])::uuid,
      changes,
      fields
    );
    if other is null then
      return null;
    end if;
    verb := 'created';
    before := null;
    after := other;
    other := null;
    changes := '{}';
    fields := '{}';
  end loop;
end
$$;
comment on function app.record_event() is
  'Records the change of a row as an event. The arguments of its trigger: the noun of the type; the columns whose values are shown; those of which only the names are, in alphabetical order; the column of the member whom it is about, if any; the column of the subject, if not id; the column of its title, if not title. Columns are separated by a comma and a blank; all others are not recorded.';
grant execute on function app.record_event() to club_owner;

create or replace function app.number_events() returns trigger
-- Plans are kept, also those that were made while the table was small. Without sequential scans, and with the event updated by its key,
-- every plan reads this event and the last one of the club.
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  setting text;
begin
  if current_setting('app.event_clubs', true) <> '' then
    -- In the order of the keys, so that transactions in several clubs do not wait for each other.
    perform pg_advisory_xact_lock(key)
    from (select distinct uuid_hash_extended(club::uuid, 1) as key from unnest(string_to_array(current_setting('app.event_clubs'), ',')) as club order by key)
      as keys;
    setting := set_config('app.event_clubs', '', true);
  end if;
  setting := pg_advisory_xact_lock(uuid_hash_extended(new.tenant_id, 1));
  if current_setting('app.event_club_id', true) is distinct from new.tenant_id::text then
    setting := set_config('app.event_club_id', new.tenant_id::text, true);
  end if;
  if current_setting('transaction_isolation') = 'read committed' then
    update app.events as event
    set sequence = 1 + coalesce((select max(last.sequence) from app.events as last where last.tenant_id = new.tenant_id), 0)
    where (event.tenant_id, event.id) = (new.tenant_id, new.id);
  else
    -- The last number may not be in the snapshot of the transaction. Not in this form in every transaction: it takes a subtransaction.
    begin
      update app.events as event
      set sequence = 1 + coalesce((select max(last.sequence) from app.events as last where last.tenant_id = new.tenant_id), 0)
      where (event.tenant_id, event.id) = (new.tenant_id, new.id);
    exception when unique_violation then
      raise exception using errcode = '40001', message = 'another transaction has recorded in the club since the snapshot';
    end;
  end if;
  return null;
end
$$;
comment on function app.number_events() is
  'Gives an event the number after the last one of its club, whose numbers it locks until the transaction ends. 40001 at COMMIT: the transaction is REPEATABLE READ or SERIALIZABLE, and another one has recorded since it began.';
grant execute on function app.number_events() to club_owner;

create or replace function app.oldest_event() returns bigint
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  club_id constant uuid := app.tenant_id();
  setting constant text := set_config('app.event_club_id', club_id::text, true);
begin
  return (select min(event.sequence) from app.events as event where event.tenant_id = club_id and app.role() >= 'Member');
end
$$;
comment on function app.oldest_event() is
  'The number of the oldest event of the club that app.forget_events has kept, also for Members, who read only events about themselves. Null if there is none, and for a Viewer.';
grant execute on function app.oldest_event() to club_api;

set local role club_owner;

create constraint trigger events_number after insert on app.events
  deferrable initially deferred
  for each row when (current_user <> 'club_import') execute function app.number_events();
comment on trigger events_number on app.events is 'Numbers an event in the COMMIT of its transaction.';

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
  perform app.leave_as_operator(context);
  return forgotten;
end
$$;
comment on function app.forget_events(uuid, timestamptz) is
  'Deletes the events of a club up to the first that is not older than the given time, except the last event of the club. Returns their number. For operators. CL002: no such club; 55006: it moves or has moved to another database.';
grant execute on function app.forget_events(uuid, timestamptz) to club_owner;

set local role club_owner;
