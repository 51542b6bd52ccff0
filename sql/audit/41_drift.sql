-- Drift: what is otherwise than the last deploy left it. This catches what no pattern can: a changed function body,
-- a predicate that became looser in a way that nobody thought of.

create view audit.facts with (security_invoker) as
select kind, object, fact, make, unmake from audit.role_facts
union all
select kind, object, fact, make, unmake from audit.object_facts;
comment on view audit.facts is 'Everything that the chapters and migrations make, a fact a line.';
comment on column audit.facts.kind is 'What the fact is about.';
comment on column audit.facts.object is 'The thing itself.';
comment on column audit.facts.fact is 'What is so.';
comment on column audit.facts.make is 'SQL that makes it so.';
comment on column audit.facts.unmake is 'SQL that takes the thing away.';

create view audit.snapshot with (security_invoker) as
select line
from (select format('%s %s: %s', kind, object, fact) as line from audit.facts) as lines
order by line collate "C";
comment on view audit.snapshot is 'The facts as lines, in order: sql/snapshot.txt.';
comment on column audit.snapshot.line is 'One fact.';

create function audit.fingerprint() returns text
language sql stable
return (select encode(sha256(convert_to(string_agg(snapshot.line || E'\n', '' order by snapshot.line collate "C"), 'UTF8')), 'hex') from audit.snapshot);
comment on function audit.fingerprint() is
  'The SHA-256 of the facts. On the version of PostgreSQL that sql/snapshot.txt was made with it is that of the file: compare without trusting the database.';

create function audit.record_facts() returns void
language sql volatile
begin atomic
  delete from deploy.facts;
  insert into deploy.facts (kind, object, fact, make, unmake, server_major)
  select facts.kind, facts.object, facts.fact, facts.make, facts.unmake, current_setting('server_version_num')::integer / 10000
  from audit.facts;
end;
comment on function audit.record_facts() is 'Keeps the facts as they are now, as what is meant. The end of every deploy.';

create view audit.drift_checks (code, severity, title, why) with (security_invoker) as values
  ('isolation_drift', 'critical', 'The isolation is otherwise than the last deploy left it', 'Somebody changed a role, grant, policy, function, view, trigger or key by hand.'),
  ('schema_drift', 'warning', 'The schema is otherwise than the last deploy left it', 'Somebody changed a column, index, check or setting by hand.'),
  ('facts_missing', 'critical', 'The last deploy left no facts behind', 'Nothing can be compared: deploy again.'),
  ('facts_of_another_version', 'warning', 'The facts are those of another version of PostgreSQL', 'They are printed otherwise there, so nothing was compared: deploy again.');
comment on view audit.drift_checks is 'The checks of drift.';
comment on column audit.drift_checks.code is 'Its name, for audit.findings.';
comment on column audit.drift_checks.severity is 'critical: a club can reach another; warning: anything else.';
comment on column audit.drift_checks.title is 'What it finds.';
comment on column audit.drift_checks.why is 'Why that matters.';

create view audit.drift with (security_invoker) as
select
  coalesce(meant.kind, found.kind) as kind,
  coalesce(meant.object, found.object) as object,
  meant.fact as meant,
  found.fact as found,
  coalesce(case when meant.fact is null then found.unmake else meant.make end, '-- Deploy again: node dist/migrate.js') as fix
from (select * from deploy.facts where server_major = current_setting('server_version_num')::integer / 10000) as meant
full join audit.facts as found on (meant.kind, meant.object) = (found.kind, found.object)
where meant.fact is distinct from found.fact and exists (
  select from deploy.facts where server_major = current_setting('server_version_num')::integer / 10000
);
comment on view audit.drift is 'The facts that are not as the last deploy left them.';
comment on column audit.drift.kind is 'What the fact is about.';
comment on column audit.drift.object is 'The thing itself.';
comment on column audit.drift.meant is 'What the last deploy left; null when it knew nothing of it.';
comment on column audit.drift.found is 'What is there now; null when it is gone.';
comment on column audit.drift.fix is 'SQL that brings back what is meant.';

create view audit.drift_findings (code, object, detail, fix) with (security_invoker) as
select
  case when kind in ('column', 'not null', 'default', 'index', 'constraint', 'setting', 'sequence', 'type') then 'schema_drift' else 'isolation_drift' end,
  kind || ' ' || object,
  case
    when meant is null then 'it was not there: ' || found
    when found is null then 'it is gone: ' || meant
    else format('it was %s and is %s', meant, found)
  end,
  fix
from audit.drift
union all
select 'facts_missing', 'deploy.facts', 'it is empty', '-- Deploy again: node dist/migrate.js'
where not exists (select from deploy.facts)
union all
select 'facts_of_another_version', 'deploy.facts', format('they are of PostgreSQL %s, the server is %s', min(server_major), current_setting('server_version')),
  '-- Deploy again: node dist/migrate.js'
from deploy.facts
having min(server_major) <> current_setting('server_version_num')::integer / 10000;
comment on view audit.drift_findings is 'What the checks of drift find.';
comment on column audit.drift_findings.code is 'The check.';
comment on column audit.drift_findings.object is 'What it found.';
comment on column audit.drift_findings.detail is 'What is wrong with it.';
comment on column audit.drift_findings.fix is 'SQL that mends it.';
