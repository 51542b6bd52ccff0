-- Club files: node dist/club.js exports the rows of a club to a file, and imports them from one.
--
-- The login of the deploy becomes club_export or club_import, in the context of the club. Neither role logs in, bypasses row-level
-- security or owns a function: the policies below select the rows of an export, and refuse rows of another club in an import.
--
-- The grants and policies of a table are the same for all tables with a tenant, those of later features too. So they are created from the
-- catalog. The rows of a table contain the club, but an import may not write the column: its default is the club of the context.
--
-- An import writes rows as they were exported. Each trigger that runs at an INSERT excludes club_import by its condition, which
-- sql/lint.sql requires. The condition reads current_user, which no setting changes.

grant execute on function app.missing_context(text), app.tenant_id() to club_export, club_import;

do $$
declare
  exported record;
begin
  for exported in
    select relation, name, tenant, string_agg(quote_ident(attribute.attname), ', ' order by attribute.attnum) as columns
    from (
      select class.oid as relid, class.oid::regclass as relation, class.relname as name,
        case class.oid when 'app.clubs'::regclass then 'id' else 'tenant_id' end as tenant
      from pg_class as class
      where class.relnamespace = 'app'::regnamespace and class.relkind in ('r', 'p')
    ) as tables
    join pg_attribute as attribute on attribute.attrelid = relid and attribute.attnum > 0 and not attribute.attisdropped and attribute.attgenerated = ''
    where exists (select from pg_attribute as tenant_column where tenant_column.attrelid = relid and tenant_column.attname = tenant and not tenant_column.attisdropped)
      and attribute.attname <> 'tenant_id'
    group by relation, name, tenant
  loop
    execute format('grant select on %s to club_export, club_import', exported.relation);
    execute format('grant insert (%s) on %s to club_import', exported.columns, exported.relation);
    execute format('create policy %I on %s for select to club_export, club_import using (%I = (select app.tenant_id()))',
      exported.name || '_export', exported.relation, exported.tenant);
    execute format('comment on policy %I on %s is %L', exported.name || '_export', exported.relation,
      'An export reads the rows of the club, and an import those that it has written.');
    execute format('create policy %I on %s for insert to club_import with check (%I = (select app.tenant_id()))',
      exported.name || '_import', exported.relation, exported.tenant);
    execute format('comment on policy %I on %s is %L', exported.name || '_import', exported.relation, 'An import writes rows of the club.');
  end loop;
end
$$;
