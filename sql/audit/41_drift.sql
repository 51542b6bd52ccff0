-- Drift: differences between the catalogs and the facts of the last deploy. They show changes that no rule describes, such as a
-- changed function body or a policy that allows more rows.

create view audit.facts with (security_invoker) as
select kind, object, fact, make, unmake from audit.right_facts
union all
select kind, object, fact, make, unmake from audit.object_facts
union all
select kind, object, fact, make, unmake from audit.row_facts;
comment on view audit.facts is 'All facts of the objects and rows that the chapters and migrations create, one row each. make is SQL that restores the fact, unmake SQL that removes the object; null where a deploy does so.';

create view audit.snapshot with (security_invoker) as
select line
from (select format('%s %s: %s', kind, object, fact) as line from audit.facts) as lines
order by line collate "C";
comment on view audit.snapshot is 'The facts as sorted lines: the content of sql/snapshot.txt.';

create function audit.fingerprint() returns text
language sql stable set quote_all_identifiers = off set standard_conforming_strings = on
return (select encode(sha256(convert_to(string_agg(snapshot.line || E'\n', '' order by snapshot.line collate "C"), 'UTF8')), 'hex') from audit.snapshot);
comment on function audit.fingerprint() is
  'The SHA-256 of the facts. On the major version that sql/snapshot.txt was made with it equals the SHA-256 of the file. It is computed by this database; sql/README.md shows a comparison that does not use its functions.';

create view audit.migrated_kinds (kind) with (security_invoker) as values
  ('schema'), ('table'), ('partitioned table'), ('foreign table'), ('materialized view'), ('sequence'), ('column'),
  ('not null'), ('key'), ('constraint'), ('index'), ('type'), ('storage'), ('other'), ('row');
comment on view audit.migrated_kinds is 'The kinds of facts that migrations create and a deploy does not create again.';

-- A deploy does not create the objects of migrations again. If it stored all facts as it finds them, a constraint that
-- was dropped by hand would no longer be drift. So for these kinds it stores only what this deploy changed itself.
create function audit.record_facts(before jsonb default null) returns void
language sql volatile set quote_all_identifiers = off set standard_conforming_strings = on
begin atomic
  with was as materialized (
    select * from jsonb_to_recordset(before) as was (kind text, object text, fact text)
  ), found as materialized (
    select * from audit.facts
  ), stored as materialized (
    select found.*
    from found left join was using (kind, object, fact)
    where (was.kind is null
      or found.kind not in (select migrated.kind from audit.migrated_kinds as migrated)
      -- The SQL of a fact may be that of an older release.
      or (found.kind, found.object, found.fact) in (select meant.kind, meant.object, meant.fact from deploy.facts as meant))
      -- Where all facts are lost, a part would make every other object new.
      and (before is null or exists (select from deploy.facts))
  ), removed as (
    delete from deploy.facts as meant
    where (meant.kind, meant.object) not in (select stored.kind, stored.object from stored)
      and (before is null
        or meant.kind not in (select migrated.kind from audit.migrated_kinds as migrated)
        or (meant.kind, meant.object) in (select was.kind, was.object from was)
          and (meant.kind, meant.object) not in (select found.kind, found.object from found))
  )
  insert into deploy.facts as facts (kind, object, fact, make, unmake, server_major)
  select stored.kind, stored.object, stored.fact, stored.make, stored.unmake, current_setting('server_version_num')::integer / 10000
  from stored
  on conflict (kind, object) do update
  -- For a function and a view the deploy writes in which file their text is.
  set (fact, make, unmake, server_major) =
    (excluded.fact, case when excluded.kind in ('function', 'view') then facts.make else excluded.make end, excluded.unmake, excluded.server_major);
end;
comment on function audit.record_facts(jsonb) is
  'Stores the current facts in deploy.facts, for audit.drift. With the facts from before the deploy (kind, object, fact) it stores only those that the deploy changed, and none where deploy.facts is empty. Without an argument it stores all: the owner calls it so to accept a change that was made by hand.';

create view audit.drift_checks (code, severity, title, why) with (security_invoker) as values
  ('isolation_drift', 'critical', 'The isolation differs from the last deploy', 'A grant, policy, function, view or table was added or changed by hand, or a restrictive policy, or a view or function of the schema audit, was removed.'),
  ('schema_drift', 'warning', 'The schema differs from the last deploy', 'A column, key, trigger, index, check or setting was changed by hand, or access was taken away.'),
  ('row_drift', 'warning', 'A row differs from the last deploy', 'Only migrations write the rows of the workflow, and only a deploy those of the schema deploy.'),
  ('facts_missing', 'critical', 'deploy.facts is empty', 'Drift cannot be checked. A deploy does not store the facts again, because it cannot tell a change by hand from what was deployed.'),
  ('facts_of_another_version', 'warning', 'deploy.facts is of another version of PostgreSQL', 'Versions print the views and functions of the schema audit differently, so these were not compared. Deploy again.');
comment on view audit.drift_checks is 'The checks of drift.';

create view audit.drift with (security_invoker) as
select
  kind,
  object,
  meant.fact as meant,
  found.fact as found,
  case
    when meant.fact is null then found.unmake
    when found.fact is null and kind ~ 'table$' then audit.manual('Restore it from a backup')
    else meant.make
  end as fix
from deploy.facts as meant
full join audit.facts as found using (kind, object)
where meant.fact is distinct from found.fact
  and exists (select from deploy.facts)
  and not (kind in ('view', 'function') and object ~ '^audit\.' and exists (
    select from deploy.facts where kind = 'function' and server_major <> current_setting('server_version_num')::integer / 10000
  ));
comment on view audit.drift is 'The facts that differ from the last deploy. meant is null where there was none, found where there is none. A fix of null is a deploy.';

create view audit.drift_findings (code, object, detail, fix) with (security_invoker) as
select
  case
    when kind = 'row' then 'row_drift'
    when kind in ('view', 'function') and object ~ '^audit\.' then 'isolation_drift'
    when kind = 'policy' and meant ~ '^restrictive ' then 'isolation_drift'
    -- What is missing only takes access away.
    when found is null then 'schema_drift'
    -- Reading the definitions of the isolation is not access to a club.
    when kind = 'grant' and object ~ '^(select|usage|execute) on \w+ (deploy|audit)\M' then 'schema_drift'
    when kind in ('schema', 'table', 'partitioned table', 'foreign table', 'materialized view', 'view', 'function', 'policy', 'grant') then 'isolation_drift'
    else 'schema_drift'
  end,
  kind || ' ' || object,
  case
    when meant is null then 'it is new: ' || found
    when found is null then 'it is missing: ' || meant
    when regexp_replace(meant, ' body \w+$', '') = regexp_replace(found, ' body \w+$', '') then 'it has another body'
    else format('it was %s and is %s', meant, found)
  end,
  fix
from audit.drift
union all
select 'facts_missing', 'table deploy.facts', 'it is empty',
  audit.manual('Compare with sql/check.sql. If that prints only facts_missing, as club_owner: select from audit.record_facts()')
where not exists (select from deploy.facts)
union all
select 'facts_of_another_version', 'table deploy.facts',
  format('the schema audit is of PostgreSQL %s, the server is %s', min(server_major), current_setting('server_version')), null
from deploy.facts
where kind = 'function'
having min(server_major) <> current_setting('server_version_num')::integer / 10000;
comment on view audit.drift_findings is 'The findings of the checks of drift.';
