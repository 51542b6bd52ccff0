-- Sweep: what no chapter made goes.
--
-- A function or view of ours that this deploy did not make belongs to an earlier release or to nobody. Each
-- "create or replace" above has written its row of the catalog in this transaction; the others are dropped.

revoke create on schema app from club_signup, club_idempotency, club_expiry, club_directory, club_operator;

-- In the name of the login again, which may drop what any of our roles owns.
set local role none;

do $$
declare
  -- One statement for all of a kind, so that strays may depend on each other.
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
