-- Clear: the present begins from nothing.
--
-- Every policy, trigger and grant of ours is dropped here and made again by the chapters that follow, in the
-- same transaction, which the login of the deploy begins in its own name. So what is not in the chapters does
-- not exist in the database: a policy or a grant that somebody added by hand is gone after the next deploy.

-- Inside a savepoint, so that the rows written here bear another number than those that the chapters write: by
-- it the last chapter knows what no chapter made.
savepoint clear;

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
        where attribute.attrelid = class.oid and attribute.attacl is not null
      ) as acl
      where class.relnamespace in ('app'::regnamespace, 'deploy'::regnamespace) and class.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        -- What a superuser made is not ours to revoke from; the last chapter drops it.
        and (class.relkind <> 'v' or pg_has_role(class.relowner, 'member'))
      union all
      select 'routine', proc.oid::regprocedure::text, proc.proowner, proc.proacl
      from pg_proc as proc
      where proc.pronamespace in ('app'::regnamespace, 'deploy'::regnamespace) and pg_has_role(proc.proowner, 'member')
    )
    select distinct format(
      'revoke all on %s %s from %s', object.kind, object.name,
      case granted.grantee when 0 then 'public' else granted.grantee::regrole::text end
    ) as statement
    from object
    cross join lateral aclexplode(object.acl) as granted
    where granted.grantee <> object.owner
  loop
    execute stray.statement;
  end loop;
end
$$;

release savepoint clear;

-- PostgreSQL lets everybody execute a new function. Not here: each chapter names who may.
alter default privileges for role club_owner, club_signup, club_idempotency, club_expiry, club_directory, club_operator
  revoke execute on functions from public;

set local role club_owner;

-- The capability roles make their functions in their own name, which needs CREATE until the last chapter.
grant usage, create on schema app to club_signup, club_idempotency, club_expiry, club_directory, club_operator;
grant usage on schema app to club_api;
