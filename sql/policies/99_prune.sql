-- Prune: drops the functions and views in app and deploy that no chapter created.
--
-- An earlier release or an administrator created them. Each "create or replace" of a chapter writes its catalog row
-- in this transaction, so a row of another transaction is dropped.

revoke create on schema app
from
  -- The capability roles; make snapshot writes this list.
  club_signup, club_idempotency, club_expiry, club_directory, club_registry, club_recorder, club_roster, club_secretary, club_membership, club_places, club_calendar, club_copy, club_export, club_import, club_operator;

-- As the login of the deploy again, which may drop the objects of every role of the service.
set local role none;

do $$
declare
  -- One statement for each kind, so that dropped objects may depend on each other.
  views    constant text := (
    select string_agg(class.oid::regclass::text, ', ')
    from pg_class as class
    where class.relnamespace in ('app'::regnamespace, 'deploy'::regnamespace) and class.relkind = 'v'
      and class.xmin <> pg_current_xact_id()::xid
  );
  routines constant text := (
    select string_agg(proc.oid::regprocedure::text, ', ')
    from pg_proc as proc
    where proc.pronamespace in ('app'::regnamespace, 'deploy'::regnamespace)
      and proc.xmin <> pg_current_xact_id()::xid
  );
begin
  if views is not null then
    execute 'drop view ' || views;
  end if;
  if routines is not null then
    execute 'drop routine ' || routines;
  end if;
end
$$;
