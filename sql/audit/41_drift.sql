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

create view audit.seal with (security_invoker) as
select encode(sha256(convert_to(coalesce(string_agg(format('%s %s: %s, %s, %s, %s', kind, object, fact, make, unmake, server_major), E'\n' order by kind collate "C", object collate "C"), ''), 'UTF8')), 'hex') as seal
from deploy.facts where kind <> 'seal';
comment on view audit.seal is 'The SHA-256 of deploy.facts. A deploy keeps it among them, so that an edited line shows.';
comment on column audit.seal.seal is 'The hash.';

create view audit.migrated_kinds (kind) with (security_invoker) as values
  ('schema'), ('table'), ('partitioned table'), ('foreign table'), ('materialized view'), ('sequence'), ('column'),
  ('not null'), ('key'), ('constraint'), ('index'), ('rule'), ('type'), ('storage'), ('other');
comment on view audit.migrated_kinds is 'The kinds of facts that migrations make and a deploy does not make anew.';
comment on column audit.migrated_kinds.kind is 'The kind.';

-- What a deploy does not make anew it must not take for meant either: a constraint that somebody dropped would be
-- forgotten by the next deploy. So of what migrations make only the difference is kept that this deploy has made.
create function audit.record_facts(before jsonb default null) returns void
language sql volatile
begin atomic
  with was as materialized (
    select * from jsonb_to_recordset(before) as was (kind text, object text, fact text)
  ), changed as materialized (
    select kind, object
    from was full join audit.facts as found using (kind, object)
    where was.fact is distinct from found.fact
  )
  delete from deploy.facts as meant
  where before is null
    or meant.server_major <> current_setting('server_version_num')::integer / 10000
    or meant.kind not in (select migrated.kind from audit.migrated_kinds as migrated)
    or (meant.kind, meant.object) in (select changed.kind, changed.object from changed);

  insert into deploy.facts (kind, object, fact, make, unmake, server_major)
  select found.kind, found.object, found.fact, found.make, found.unmake, current_setting('server_version_num')::integer / 10000
  from audit.facts as found
  left join jsonb_to_recordset(before) as was (kind text, object text, fact text) on (was.kind, was.object, was.fact) = (found.kind, found.object, found.fact)
  where was.kind is null
    or found.kind not in (select migrated.kind from audit.migrated_kinds as migrated)
    or not exists (select from deploy.facts);

  insert into deploy.facts (kind, object, fact, server_major)
  select 'seal', 'deploy.facts', seal.seal, current_setting('server_version_num')::integer / 10000
  from audit.seal as seal;
end;
comment on function audit.record_facts(jsonb) is
  'Keeps as meant what this deploy has made: everything, or with the facts of before (kind, object, fact) what it made otherwise. The owner calls it without, to take over a change that was made by hand.';

create view audit.drift_checks (code, severity, title, why) with (security_invoker) as values
  ('isolation_drift', 'critical', 'The isolation is otherwise than the last deploy left it', 'Somebody changed a role, grant, policy, function, view, trigger or key by hand.'),
  ('schema_drift', 'warning', 'The schema is otherwise than the last deploy left it', 'Somebody changed a column, index, check or setting by hand.'),
  ('facts_edited', 'critical', 'What the last deploy left behind was changed since', 'Somebody made the comparison agree with what they did: deploy again.'),
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
from (select * from deploy.facts where kind <> 'seal' and server_major = current_setting('server_version_num')::integer / 10000) as meant
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
  case when kind in ('column', 'not null', 'default', 'index', 'constraint', 'setting', 'sequence', 'storage', 'type', 'other', 'comment') then 'schema_drift' else 'isolation_drift' end,
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
select 'facts_edited', 'deploy.facts', 'its hash is ' || seal.seal, '-- Deploy again: node dist/migrate.js'
from audit.seal as seal
where exists (select from deploy.facts) and not exists (select from deploy.facts where (kind, object, fact) = ('seal', 'deploy.facts', seal.seal))
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
