-- Reset: drops every policy, trigger and grant in the schemas app and deploy.
--
-- The chapters that follow create them again in the same transaction. So the chapters are the only source: a
-- policy or a grant that was added by hand is gone after the next deploy. The transaction begins as the login of
-- the deploy.

-- A savepoint gives the catalog rows written here another transaction id than the chapters. By this id
-- the last chapter finds what no chapter created.
savepoint reset;

do $$
declare
  stray record;
begin
  for stray in
    select format('drop policy %I on %s', policy.polname, policy.polrelid::regclass) as statement
    from pg_policy as policy
    join pg_class as class on class.oid = policy.polrelid
    where class.relnamespace in ('app'::regnamespace, 'deploy'::regnamespace)
    union all
    select format('drop trigger %I on %s', tgname, tgrelid::regclass)
    from pg_trigger
    join pg_class as class on class.oid = pg_trigger.tgrelid
    where class.relnamespace in ('app'::regnamespace, 'deploy'::regnamespace) and not tgisinternal
  loop
    execute stray.statement;
  end loop;

  for stray in
    with object (kind, name, owner, acl) as (
      select 'schema', quote_ident(nspname), nspowner, nspacl
      from pg_namespace
      where nspname in ('app', 'deploy')
      union all
      select case class.relkind when 'S' then 'sequence' else 'table' end, class.oid::regclass::text, class.relowner, acl.acl
      from pg_class as class
      cross join lateral (
        select class.relacl as acl
        union all
        select attribute.attacl
        from pg_attribute as attribute
        where attribute.attrelid = class.oid and attribute.attacl is not null and not attribute.attisdropped
      ) as acl
      where class.relnamespace in ('app'::regnamespace, 'deploy'::regnamespace) and class.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        -- This role cannot revoke from an object of a superuser; the last chapter drops the object.
        and (class.relkind <> 'v' or pg_has_role(class.relowner, 'member'))
      union all
      select 'routine', proc.oid::regprocedure::text, proc.proowner, proc.proacl
      from pg_proc as proc
      where proc.pronamespace in ('app'::regnamespace, 'deploy'::regnamespace) and pg_has_role(proc.proowner, 'member')
      union all
      select 'type', type.oid::regtype::text, type.typowner, type.typacl
      from pg_type as type
      where type.typnamespace in ('app'::regnamespace, 'deploy'::regnamespace) and pg_has_role(type.typowner, 'member')
    )
    -- CASCADE, because the grantee may have granted its privileges to other roles.
    select distinct format(
      'revoke all on %s %s from %s cascade', object.kind, object.name,
      case granted.grantee when 0 then 'public' else granted.grantee::regrole::text end
    ) as statement
    from object
    cross join lateral aclexplode(object.acl) as granted
    where granted.grantee <> object.owner
      -- By default every role may use a type, and no chapter grants it.
      and not (object.kind = 'type' and granted.grantee = 0)
  loop
    execute stray.statement;
  end loop;
end
$$;

release savepoint reset;

-- By default PostgreSQL lets every role execute a new function. Here each chapter grants EXECUTE.
alter default privileges
  for role club_owner,
    -- The capability roles; make snapshot writes this list.
    club_signup, club_idempotency, club_expiry, club_directory, club_registry, club_recorder, club_roster, club_secretary, club_membership, club_places, club_calendar, club_copy, club_export, club_import, club_operator
  revoke execute on functions from public;

set local role club_owner;

-- The capability roles create their own functions, which needs CREATE; the last chapter revokes it.
grant usage, create on schema app
to
  -- The capability roles; make snapshot writes this list.
  club_signup, club_idempotency, club_expiry, club_directory, club_registry, club_recorder, club_roster, club_secretary, club_membership, club_places, club_calendar, club_copy, club_export, club_import, club_operator;
grant usage on schema app to club_api;
