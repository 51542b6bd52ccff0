-- Up Migration
-- A club that moves between two databases.
set local row_security = off;

alter table app.clubs
  add column move_id uuid,
  add column move_state text,
  add column move_target text,
  add column moved_at timestamptz,
  add constraint clubs_move check (
    move_state in ('leaving', 'moved', 'arriving')
    and (move_id is null) = (move_state is null)
    and (move_target is null) = (move_state is null or move_state = 'arriving')
    and (moved_at is null) = (move_state is null or move_state <> 'moved')
  ) not valid;
