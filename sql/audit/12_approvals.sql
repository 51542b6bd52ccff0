-- Approvals: what a deploy with APPROVE or PROVIDER wrote into deploy.approvals.
--
-- Each list has a seal, its hash. A row that was written by hand breaks the seal, and then nothing of that list counts. Only a
-- deploy with the variable of the list writes the seal again, so a later deploy without it hides nothing.

create view audit.approval_seals with (security_invoker) as
select
  kind,
  encode(sha256(convert_to(string_agg(format('%s, %s, %s', name, value, extract(epoch from approved_at)), E'\n'
    order by name collate "C", value collate "C"), 'UTF8')), 'hex') as seal
from deploy.approvals where kind <> 'seal' group by kind;
comment on view audit.approval_seals is 'The SHA-256 of each list in deploy.approvals. A deploy stores it there too, to find an edited row.';
comment on column audit.approval_seals.kind is 'The list: power or provider.';
comment on column audit.approval_seals.seal is 'The hash.';

create view audit.approvals with (security_invoker) as
select approved.kind, approved.name, approved.value, approved.approved_at
from deploy.approvals as approved
join audit.approval_seals as seal using (kind)
where exists (select from deploy.approvals as stored where (stored.kind, stored.name, stored.value) = ('seal', seal.kind, seal.seal));
comment on view audit.approvals is 'The approvals that count: those of deploy.approvals whose list was not edited by hand.';
comment on column audit.approvals.kind is 'power, or provider.';
comment on column audit.approvals.name is 'The role, or the provider.';
comment on column audit.approvals.value is 'The power, as in audit.powers; empty for a provider.';
comment on column audit.approvals.approved_at is 'When the deploy wrote it.';

create view audit.excused_roles with (security_invoker) as
select known.role, known.provider
from audit.provider_roles as known
join audit.approvals as approved on (approved.kind, approved.name) = ('provider', known.provider);
comment on view audit.excused_roles is 'The roles of the provider that was given to a deploy with PROVIDER.';
comment on column audit.excused_roles.role is 'The role.';
comment on column audit.excused_roles.provider is 'The provider.';

-- Another application in the same database: roles with their own objects, which cannot become a role of the service. The provider is
-- one too, but not a role of it that owns the database as its customer's administrator.
create view audit.other_applications (roleid) with (security_invoker) as
select role.oid
from pg_roles as role
where role.oid <> (select datdba from pg_database where datname = current_database()) and (
  role.rolname in (select excused.role from audit.excused_roles as excused)
  or not role.rolsuper and not role.rolbypassrls and role.rolname !~ '^pg_'
    and role.rolname not in (select intended.role from audit.intended_roles as intended)
    and role.oid not in (
      select reach.memberid
      from audit.reaches as reach
      join pg_roles as ours on ours.oid = reach.roleid
      join audit.intended_roles as intended on intended.role = ours.rolname
    )
);
comment on view audit.other_applications is 'The roles that may own schemas of another application in this database. Objects that only they use are not findings.';
comment on column audit.other_applications.roleid is 'The role''s number in pg_authid.';

create view audit.other_schemas (schemaid) with (security_invoker) as
select namespace.oid
from pg_namespace as namespace
where namespace.nspname not in ('app', 'deploy', 'audit')
  and namespace.nspowner in (select other.roleid from audit.other_applications as other);
comment on view audit.other_schemas is 'The schemas of other applications. It is a warning when a role of the service has a privilege on one.';
comment on column audit.other_schemas.schemaid is 'The schema''s number in pg_namespace.';

-- A function, because planning this query at each use takes longer than all checks together. It returns a set, so that a
-- view calls it once and not for each object.
create function audit.elsewhere() returns table (schemaid oid, ownerid oid)
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select schema.schemaid, owner.roleid from audit.other_schemas as schema cross join audit.other_applications as owner;
end;
comment on function audit.elsewhere() is 'The schemas and owners of other applications. An object is theirs when both its schema and its owner are.';
