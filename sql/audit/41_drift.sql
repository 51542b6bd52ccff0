-- Drift: differences between the catalogs and the facts of the last deploy. They show changes that no other check
-- describes, such as a changed function body or a policy that allows more rows.

create view audit.facts with (security_invoker) as
select kind, object, fact, make, unmake from audit.role_facts
union all
select kind, object, fact, make, unmake from audit.object_facts
union all
select kind, object, fact, make, unmake from audit.row_facts;
comment on view audit.facts is 'All facts of the objects and rows that the chapters and migrations create, one row each.';
comment on column audit.facts.kind is 'The kind of object.';
comment on column audit.facts.object is 'The object.';
comment on column audit.facts.fact is 'The property, as text.';
comment on column audit.facts.make is 'SQL that restores the fact.';
comment on column audit.facts.unmake is 'SQL that removes the object.';

create view audit.snapshot with (security_invoker) as
select line
from (select format('%s %s: %s', kind, object, fact) as line from audit.facts) as lines
order by line collate "C";
comment on view audit.snapshot is 'The facts as sorted lines: the content of sql/snapshot.txt.';
comment on column audit.snapshot.line is 'One fact.';

create function audit.fingerprint() returns text
language sql stable set quote_all_identifiers = off set standard_conforming_strings = on
return (select encode(sha256(convert_to(string_agg(snapshot.line || E'\n', '' order by snapshot.line collate "C"), 'UTF8')), 'hex') from audit.snapshot);
comment on function audit.fingerprint() is
  'The SHA-256 of the facts. On the major version that sql/snapshot.txt was made with it equals the SHA-256 of the file. It is computed by this database; sql/README.md shows a comparison that does not use its functions.';

create view audit.seal with (security_invoker) as
select encode(sha256(convert_to(coalesce(string_agg(format('%s %s: %s, %s, %s, %s', kind, object, fact, make, unmake, server_major), E'\n' order by kind collate "C", object collate "C"), ''), 'UTF8')), 'hex') as seal
from deploy.facts where kind <> 'seal';
comment on view audit.seal is 'The SHA-256 of deploy.facts. A deploy stores it there too, to find an edited row.';
comment on column audit.seal.seal is 'The hash.';

-- These rows differ between servers, so they are no facts. A deploy writes a release after the facts.
create view audit.row_seals (relation, seal) with (security_invoker) as
select relation, encode(sha256(convert_to(coalesce(string_agg(hash, E'\n' order by hash collate "C"), ''), 'UTF8')), 'hex')
from (values ('deploy.releases'), ('deploy.chapters')) as sealed (relation)
left join (
  select 'deploy.releases', fingerprint from deploy.releases
  union all
  select 'deploy.chapters', sha256 from deploy.chapters
) as written (relation, hash) using (relation)
group by relation;
comment on view audit.row_seals is 'The SHA-256 of the rows of a table that a deploy writes. A deploy stores it in deploy.facts, to find an edited row.';
comment on column audit.row_seals.relation is 'The table.';
comment on column audit.row_seals.seal is 'The hash.';

create view audit.migrated_kinds (kind) with (security_invoker) as values
  ('schema'), ('table'), ('partitioned table'), ('foreign table'), ('materialized view'), ('sequence'), ('column'),
  ('not null'), ('key'), ('constraint'), ('index'), ('rule'), ('type'), ('storage'), ('other'), ('row'), ('built-in');
comment on view audit.migrated_kinds is 'The kinds of facts that migrations create and a deploy does not create again.';
comment on column audit.migrated_kinds.kind is 'The kind.';

-- A deploy does not create the objects of migrations again. If it stored all facts as it finds them, a constraint that
-- was dropped by hand would no longer be drift. So for these kinds it stores only what this deploy changed itself.
create function audit.record_facts(before jsonb default null) returns void
language sql volatile set quote_all_identifiers = off set standard_conforming_strings = on
begin atomic
  with was as materialized (
    select * from jsonb_to_recordset(before) as was (kind text, object text, fact text)
  ), found as materialized (
    select facts.*, facts.kind in (select migrated.kind from audit.migrated_kinds as migrated) as is_migrated
    from audit.facts as facts
  ), stored as materialized (
    select found.*
    from found left join was using (kind, object, fact)
    where was.kind is null
      or not found.is_migrated
      -- The SQL of a fact may be that of an older release.
      or exists (
        select from deploy.facts as meant
        where (meant.kind, meant.object, meant.fact, meant.server_major)
          = (found.kind, found.object, found.fact, current_setting('server_version_num')::integer / 10000)
      )
      or not exists (select from deploy.facts where server_major = current_setting('server_version_num')::integer / 10000)
  ), removed as (
    delete from deploy.facts as meant
    where (meant.kind, meant.object) not in (select stored.kind, stored.object from stored)
      and (before is null
        or meant.server_major <> current_setting('server_version_num')::integer / 10000
        or meant.kind not in (select migrated.kind from audit.migrated_kinds as migrated)
        or (meant.kind, meant.object) in (select was.kind, was.object from was)
          and (meant.kind, meant.object) not in (select found.kind, found.object from found))
  )
  insert into deploy.facts (kind, object, fact, make, unmake, server_major)
  select stored.kind, stored.object, stored.fact, stored.make, stored.unmake, current_setting('server_version_num')::integer / 10000
  from stored
  on conflict (kind, object) do update
  set (fact, make, unmake, server_major) = (excluded.fact, excluded.make, excluded.unmake, excluded.server_major);

  insert into deploy.facts (kind, object, fact, server_major)
  select 'seal', sealed.relation, sealed.seal, current_setting('server_version_num')::integer / 10000
  from (
    select 'deploy.facts', seal.seal from audit.seal as seal
    union all
    select rows.relation, rows.seal from audit.row_seals as rows
  ) as sealed (relation, seal);
end;
comment on function audit.record_facts(jsonb) is
  'Stores the current facts in deploy.facts, for audit.drift. With the facts from before the deploy (kind, object, fact) it stores only those that the deploy changed. Without an argument it stores all: the owner calls it so to accept a change that was made by hand.';

create view audit.drift_checks (code, severity, title, why) with (security_invoker) as values
  ('isolation_drift', 'critical', 'The isolation differs from the last deploy', 'A grant, policy, function, view, membership or table was added or changed by hand, or a restrictive policy, or a view or function of the schema audit, was removed.'),
  ('schema_drift', 'warning', 'The schema differs from the last deploy', 'A column, key, trigger, index, check, setting or role was changed by hand, or access was taken away.'),
  ('row_drift', 'warning', 'A row differs from the last deploy', 'Only migrations write the rows of the workflow, and only a deploy those of the schema deploy.'),
  ('built_in_drift', 'warning', 'A built-in function was changed after the database was created', 'PostgreSQL plans and runs statements by what it declares, such as its volatility. Those on which the isolation depends are function_in_catalog.'),
  ('facts_edited', 'critical', 'deploy.facts was edited after the last deploy', 'The edit may hide a change that was made by hand. Deploy again.'),
  ('facts_missing', 'critical', 'deploy.facts is empty', 'Drift cannot be checked. Deploy again.'),
  ('facts_of_another_version', 'warning', 'deploy.facts is of another version of PostgreSQL', 'Versions print facts differently, so drift was not checked. Deploy again.');
comment on view audit.drift_checks is 'The checks of drift.';
comment on column audit.drift_checks.code is 'Its name, for audit.findings.';
comment on column audit.drift_checks.severity is 'critical: a club could reach the rows of another club, or the audit cannot tell; warning: any other weakness.';
comment on column audit.drift_checks.title is 'What it finds.';
comment on column audit.drift_checks.why is 'Why it matters.';

create view audit.drift with (security_invoker) as
select
  coalesce(meant.kind, found.kind) as kind,
  coalesce(meant.object, found.object) as object,
  meant.fact as meant,
  found.fact as found,
  coalesce(case when meant.fact is null then found.unmake else meant.make end, '-- Deploy again: node dist/migrate.js') as fix
from (select * from deploy.facts where kind <> 'seal' and server_major = current_setting('server_version_num')::integer / 10000) as meant
full join audit.facts as found on (meant.kind, meant.object) = (found.kind, found.object)
where meant.fact is distinct from found.fact and exists (
  select from deploy.facts where server_major = current_setting('server_version_num')::integer / 10000
);
comment on view audit.drift is 'The facts that differ from the last deploy.';
comment on column audit.drift.kind is 'The kind of object.';
comment on column audit.drift.object is 'The object.';
comment on column audit.drift.meant is 'The fact after the last deploy; null if there was none.';
comment on column audit.drift.found is 'The fact now; null if there is none.';
comment on column audit.drift.fix is 'SQL that restores the fact of the last deploy.';

create view audit.drift_findings (code, object, detail, fix) with (security_invoker) as
select
  case
    when kind = 'row' then 'row_drift'
    when kind = 'built-in' then 'built_in_drift'
    when kind in ('view', 'function') and object ~ '^audit\.' then 'isolation_drift'
    when kind = 'policy' and meant ~ '^restrictive ' then 'isolation_drift'
    -- What is missing only takes access away.
    when found is null then 'schema_drift'
    -- Reading the definitions of the isolation is not access to a club. A login with ADMIN OPTION on club_auditor can grant it.
    when kind = 'grant' and object ~ '^(select|usage|execute) on \w+ (deploy|audit)\M' then 'schema_drift'
    when kind = 'membership' and object ~ ' in club_auditor$' then 'schema_drift'
    -- Not a role: each of its attributes has a check.
    when kind in ('schema', 'table', 'partitioned table', 'foreign table', 'materialized view', 'view', 'function', 'policy', 'rule', 'grant', 'membership') then 'isolation_drift'
    else 'schema_drift'
  end,
  kind || ' ' || object,
  case
    when meant is null then 'it is new: ' || found
    when found is null then 'it is missing: ' || meant
    else format('it was %s and is %s', meant, found)
  end,
  fix
from audit.drift
union all
select 'facts_missing', 'deploy.facts', 'it is empty', '-- Deploy again: node dist/migrate.js'
where not exists (select from deploy.facts)
union all
select 'facts_edited', 'deploy.facts', 'its hash is ' || seal.seal, '-- Deploy again: node dist/migrate.js'
from audit.seal as seal
where exists (select from deploy.facts) and not exists (select from deploy.facts where (kind, object, fact) = ('seal', 'deploy.facts', seal.seal))
union all
select 'row_drift', 'table ' || rows.relation, 'a row was added, changed or deleted: the hash of all is ' || rows.seal, '-- Deploy again: node dist/migrate.js'
from audit.row_seals as rows
where exists (select from deploy.facts)
  and not exists (select from deploy.facts where (kind, object, fact) = ('seal', rows.relation, rows.seal))
union all
select 'facts_of_another_version', 'deploy.facts', format('they are of PostgreSQL %s, the server is %s', min(server_major), current_setting('server_version')),
  '-- Deploy again: node dist/migrate.js'
from deploy.facts
having min(server_major) <> current_setting('server_version_num')::integer / 10000;
comment on view audit.drift_findings is 'The findings of the checks of drift.';
comment on column audit.drift_findings.code is 'The check.';
comment on column audit.drift_findings.object is 'The object.';
comment on column audit.drift_findings.detail is 'What is wrong with it.';
comment on column audit.drift_findings.fix is 'SQL that repairs it.';
