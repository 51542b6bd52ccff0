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
