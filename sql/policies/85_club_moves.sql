-- Club moves: a club that moves to another database.
--
-- node dist/club.js moves it in three commits. At the source app.begin_move makes the club leave: from then on app.enter and calendars
-- refuse its requests, and functions for operators too. When the transactions that began before have ended, the rows are exported to the
-- target, where the club arrives. Then app.end_move at the source marks the club as moved, and last app.open_club opens it at the target.
--
-- Both rows have the id of the move, and each function requires it. The club is served in one database at most, because app.end_move
-- precedes app.open_club, and neither is undone: app.abort_move ends a move before app.end_move. A command that continues late or runs twice
-- is refused: the id or the state is another.

comment on column app.clubs.move_id is 'The move that the club is in, the same in both databases; null in all other clubs.';
comment on column app.clubs.move_state is 'leaving or moved in the database that the club leaves, arriving in the other one. Its requests are refused.';
comment on column app.clubs.move_target is 'The name of the database to which the club moves; null where it arrives.';
comment on column app.clubs.moved_at is 'When app.end_move was called.';

grant select (move_id, move_state, move_target, moved_at), update (move_id, move_state, move_target, moved_at) on app.clubs to club_operator;
grant select (move_id, move_state, move_target, moved_at) on app.clubs to club_registry;
grant select (move_state) on app.clubs to club_calendar;

set local role club_registry;

create or replace function app.list_moves()
returns table (id uuid, slug text, name text, move_id uuid, state text, target text, moved_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select club.id, club.slug, club.name, club.move_id, club.move_state, club.move_target, club.moved_at
  from app.clubs as club
  where club.move_state is not null
  order by club.slug
$$;
comment on function app.list_moves() is 'The clubs that move from or to this database, and those that have moved. For operators.';
grant execute on function app.list_moves() to club_owner;

set local role club_operator;

create or replace function app.begin_move(id uuid, move_id uuid, target text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := app.enter_as_operator(id);
begin
  update app.clubs as club
  set move_id = begin_move.move_id, move_state = 'leaving', move_target = target
  where club.id = begin_move.id;
  perform app.leave_as_operator(context);
end
$$;
comment on function app.begin_move(uuid, uuid, text) is
  'Begins to move a club to the database of this name. Requests that begin after the commit are refused; transactions that began before go on. For operators. CL002: no such club; 55006: it moves already.';
grant execute on function app.begin_move(uuid, uuid, text) to club_owner;

create or replace function app.end_move(id uuid, move_id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := app.enter_as_operator(id, move_id);
begin
  update app.clubs as club
  set move_state = 'moved', moved_at = clock_timestamp()
  where club.id = end_move.id and club.move_state = 'leaving';
  if not found then
    raise exception using errcode = 'CL005', message = format('the club %s does not leave with the move %s', id, move_id);
  end if;
  perform app.leave_as_operator(context);
end
$$;
comment on function app.end_move(uuid, uuid) is
  'Marks a club as moved, after it has arrived at the target. Nothing undoes it. For operators. CL002: no such club; CL005: it does not leave with this move.';
grant execute on function app.end_move(uuid, uuid) to club_owner;

create or replace function app.open_club(id uuid, move_id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := app.enter_as_operator(id, move_id);
begin
  update app.clubs as club
  set move_id = null, move_state = null
  where club.id = open_club.id and club.move_state = 'arriving';
  if not found then
    raise exception using errcode = 'CL005', message = format('the club %s does not arrive with the move %s', id, move_id);
  end if;
  perform app.leave_as_operator(context);
end
$$;
comment on function app.open_club(uuid, uuid) is
  'Opens a club that has arrived, after app.end_move at the source: it is closed only if it was closed there. For operators. CL002: no such club; CL005: it does not arrive with this move.';
grant execute on function app.open_club(uuid, uuid) to club_owner;

create or replace function app.abort_move(id uuid, move_id uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  context constant jsonb := app.enter_as_operator(id, move_id);
  state text;
begin
  state := (select club.move_state from app.clubs as club where club.id = abort_move.id);
  update app.clubs as club
  set
    closed_at = case state when 'arriving' then coalesce(club.closed_at, clock_timestamp()) else club.closed_at end,
    move_id = null, move_state = null, move_target = null
  where club.id = abort_move.id and state in ('leaving', 'arriving');
  if not found then
    raise exception using errcode = 'CL005', message = format('the club %s has moved with the move %s', id, move_id);
  end if;
  perform app.leave_as_operator(context);
  if state = 'arriving' then
    perform app.forget_club(id);
  end if;
end
$$;
comment on function app.abort_move(uuid, uuid) is
  'Ends a move before app.end_move: where the club leaves, its requests are served again; where it arrives, it is removed. For operators. CL002: no such club; CL005: it does not move with this move, or has moved.';
grant execute on function app.abort_move(uuid, uuid) to club_owner;

set local role club_owner;
