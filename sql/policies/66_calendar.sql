-- Calendars: a member's link, by which calendar programs read the member's shifts without a token.
--
-- The secret of a link is the credential. The service creates it and shows it once; here is only its SHA-256.
-- app.read_calendar belongs to club_calendar. It enters with a club and a hash, and has no role in the club: a role comes from a token.
-- Its policies let it read the one link with this hash, the signups of its member, the shifts of these signups, and the name and time
-- zone of the club.

comment on table app.calendar_links is 'The link to the calendar of a member; at most one for each member.';
comment on column app.calendar_links.secret_hash is 'The SHA-256 of the secret. The secret is not stored.';
comment on column app.calendar_links.expires_at is 'The link is valid until then: 400 days after its creation.';

alter table app.calendar_links alter column tenant_id set default app.tenant_id();
alter table app.calendar_links alter column id set default app.new_id();
alter table app.calendar_links alter column member_id set default app.member_id();

grant select (tenant_id, id, member_id, created_at, expires_at), delete on app.calendar_links to club_api;
grant insert (secret_hash) on app.calendar_links to club_api;
grant select (member_id), delete on app.calendar_links to club_operator;

alter table app.calendar_links enable row level security, force row level security;

create policy calendar_links_floor on app.calendar_links as restrictive for all to public
  using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()));
comment on policy calendar_links_floor on app.calendar_links is 'Only links of the club of this transaction are visible and writable.';

create policy calendar_links_read_own on app.calendar_links for select to club_api
  using (member_id = (select app.member_id()) and (select app.role()) >= 'Viewer');
comment on policy calendar_links_read_own on app.calendar_links is 'Every role reads when their own link was created and ends: a Viewer may have been a Member.';

create policy calendar_links_read on app.calendar_links for select to club_api
  using ((select app.role()) >= 'Admin');
comment on policy calendar_links_read on app.calendar_links is 'An Admin finds the link of any member, to delete it.';

create policy calendar_links_create on app.calendar_links for insert to club_api
  with check (member_id = (select app.member_id()) and (select app.role()) >= 'Member');
comment on policy calendar_links_create on app.calendar_links is 'A Member creates their own link.';

create policy calendar_links_delete_own on app.calendar_links for delete to club_api
  using (member_id = (select app.member_id()) and (select app.role()) >= 'Viewer');
comment on policy calendar_links_delete_own on app.calendar_links is 'Every role deletes their own link: a Viewer may have been a Member.';

create policy calendar_links_delete on app.calendar_links for delete to club_api
  using ((select app.role()) >= 'Admin');
comment on policy calendar_links_delete on app.calendar_links is 'An Admin deletes the link of any member.';

create policy calendar_links_find on app.calendar_links for select to club_operator
  using (tenant_id = (select app.tenant_id()));
comment on policy calendar_links_find on app.calendar_links is 'An operator finds the link of a member to erase.';

create policy calendar_links_forget on app.calendar_links for delete to club_operator
  using (tenant_id = (select app.tenant_id()));
comment on policy calendar_links_forget on app.calendar_links is 'An operator deletes links: of an erased member, or of a closed club.';

grant select (id, member_id, created_at, expires_at) on app.calendar_links to club_calendar;
grant select (id, name, time_zone) on app.clubs to club_calendar;
grant select (shift_id) on app.shift_signups to club_calendar;
grant select (id, title, location, description, starts_at, ends_at, updated_at, version) on app.shifts to club_calendar;

create policy calendar_links_enter on app.calendar_links for select to club_calendar
  using (secret_hash = (select app.link_hash()));
comment on policy calendar_links_enter on app.calendar_links is 'A calendar reads the link whose secret the request has.';

create policy clubs_calendar on app.clubs for select to club_calendar
  using (closed_at is null and id = (select app.tenant_id()));
comment on policy clubs_calendar on app.clubs is 'A calendar has the name of its club, until it is closed.';

create policy shift_signups_calendar on app.shift_signups for select to club_calendar
  using (member_id = (select app.member_id()));
comment on policy shift_signups_calendar on app.shift_signups is 'A calendar has the signups of the member of its link.';

create policy shifts_calendar on app.shifts for select to club_calendar
  using (id = any ((select app.shift_ids())::uuid[]));
comment on policy shifts_calendar on app.shifts is 'A calendar has the shifts that the member of its link is signed up for.';

grant execute on function app.missing_context(text), app.tenant_id(), app.member_id(), app.link_hash(), app.shift_ids() to club_calendar;

set local role club_calendar;

create or replace function app.read_calendar(club_id uuid, secret_hash bytea)
returns table (link_id uuid, created_at timestamptz, expires_at timestamptz, expires_on date, club_name text, shifts json)
language plpgsql stable strict security definer set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := (
    select jsonb_object_agg(setting, coalesce(current_setting(setting, true), ''))
    from unnest(array['app.tenant_id', 'app.user_id', 'app.role', 'app.member_id', 'app.link_hash', 'app.shift_ids']) as setting
  );
  link record;
begin
  perform set_config(setting, '', true) from jsonb_object_keys(context) as setting;
  perform set_config('app.tenant_id', club_id::text, true);
  perform set_config('app.link_hash', '\x' || encode(secret_hash, 'hex'), true);
  -- The policies select the link and the signups.
  select l.id, l.member_id, l.created_at, l.expires_at into link
  from app.calendar_links as l
  where l.expires_at > now();
  if found then
    if exists (select from app.clubs as club where club.move_state is not null) then
      raise exception using errcode = '55006', message = 'the club moves to another database';
    end if;
    perform set_config('app.member_id', link.member_id::text, true);
    perform set_config('app.shift_ids', array(select signup.shift_id from app.shift_signups as signup)::text, true);
    return query
      select link.id, link.created_at, link.expires_at, (link.expires_at at time zone club.time_zone)::date, club.name, (
        select coalesce(json_agg(shift order by shift."startsAt", shift.id), '[]')
        from (
          select
            s.id, s.title, s.location,
            case when char_length(s.description) > 1000 then left(s.description, 1000) || '…' else s.description end as description,
            s.starts_at as "startsAt", s.ends_at as "endsAt", s.updated_at as "updatedAt", s.version
          from app.shifts as s
          where s.ends_at >= now() - interval '90 days'
          order by s.ends_at < now(), case when s.ends_at >= now() then s.starts_at end, s.ends_at desc, s.id
          limit 1000
        ) as shift
      )
      from app.clubs as club;
  end if;
  perform set_config(setting.name, setting.value, true) from jsonb_each_text(context) as setting (name, value);
end
$$;
comment on function app.read_calendar(uuid, bytea) is
  'The calendar of the link with this hash of its secret: at most 1,000 shifts of its member, those that have not ended by start, then those that ended last, at most 90 days ago; of a description the first 1,000 characters; and the local date on which the link expires. No row when there is no such link, it has expired, or the club is closed. The context is the same afterwards as before. 55006: the club moves to another database.';
grant execute on function app.read_calendar(uuid, bytea) to club_api;

set local role club_owner;
