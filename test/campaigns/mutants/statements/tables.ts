import type { Mutants } from '../mutation.js';

const copy = 'create table app.notes (like app.tasks including all)';
const guarded = `${copy}; alter table app.notes enable row level security, force row level security`;
const shop = 'create role shop; create schema shop authorization shop';

/** Weakenings of tables and views, by the check that must find them. */
export const tables: Mutants = {
  rls_disabled: [
    copy,
    'create table app.notes (tenant_id uuid not null, id uuid primary key)',
    'create table app.notes as select * from app.tasks',
  ],
  rls_not_forced: [`${copy}; alter table app.notes enable row level security`],
  tenant_column: [
    'create table app.notes (id uuid primary key, body text)',
    'alter table app.tasks drop column tenant_id cascade',
    'create table app.notes (tenant_id text not null, id uuid)',
    'create table app.notes (tenant_id bytea not null, id uuid)',
    'create table app.notes (tenant_id varchar(36) not null, id uuid)',
  ],
  schema_drift: [
    'create table app.notes (tenant_id uuid, id uuid)',
    'alter table app.tasks drop constraint tasks_pkey; alter table app.tasks alter column tenant_id drop not null',
    `alter table app.tasks alter column tenant_id set default '11111111-1111-4111-8111-111111111111'`,
    `alter table app.members alter column tenant_id set default nullif(current_setting('app.tenant_id', true), '')::uuid`,
    'create table app.notes (author uuid, tenant_id uuid generated always as (author) stored not null)',
    guarded,
    'drop policy tasks_read on app.tasks; drop policy tasks_create on app.tasks; drop policy tasks_edit on app.tasks; drop policy tasks_delete on app.tasks; drop policy tasks_forget on app.tasks',
    `${guarded}; create policy notes_floor on app.notes as restrictive for all to public using (tenant_id = (select app.tenant_id()))`,
    'create sequence app.numbers',
    'alter table app.tasks add column number bigint generated always as identity',
    'alter table app.shifts add column number serial',
    'alter table app.shift_signups set unlogged',
    'create unlogged table app.scratch (tenant_id uuid not null, id uuid)',
    'comment on table deploy.releases is null',
    'create table app.notes (tenant_id uuid not null, id uuid)',
  ],
  object_in_catalog: ['create table information_schema.copy as table app.members'],
  object_outside_schema: [
    'create table public.backup as select * from app.tasks',
    'create schema copies; create table copies.members (like app.members)',
    'create unlogged table public.scratch (id uuid)',
    'create table deploy.copy as select * from app.members',
    'create table audit.copy (id uuid)',
    'alter table app.tasks set schema public',
    'create table public.parted (id int) partition by list (id)',
    'create schema "My Copies"; create table "My Copies"."all ""of"" them" as table app.tasks',
    'create foreign data wrapper elsewhere; create server remote foreign data wrapper elsewhere; create foreign table public.far (id uuid) server remote',
    'create materialized view public.counts as select tenant_id, count(*) from app.members group by 1',
    'create view public.everything as select * from app.members',
    'create view public.harmless with (security_invoker) as select 1 as one',
    'create schema reports; create view reports.open with (security_invoker) as select * from app.tasks',
  ],
  temporary_object: [
    'create temp table tasks (like app.tasks)',
    'create temp view "my tasks" as select 1 as one',
    'create function pg_temp.peek(int default 1) returns int language sql return 1',
  ],
  relation_unprotected: [
    'create table app.old_tasks () inherits (app.tasks)',
    'create table public.old_tasks () inherits (app.tasks)',
    `${shop}; create table shop.old_tasks () inherits (app.tasks); alter table shop.old_tasks owner to shop`,
    'create table app.visits (tenant_id uuid not null, at date) partition by range (at); create table app.visits_2026 partition of app.visits default',
    'create foreign data wrapper elsewhere; create server remote foreign data wrapper elsewhere; create foreign table app.far (tenant_id uuid not null, id uuid) server remote',
    'create materialized view app.all_tasks as select * from app.tasks',
    'create rule quiet as on delete to app.tasks do instead nothing',
    'create rule tee as on insert to app.members do also notify members',
    'create rule divert as on update to app.task_states do instead nothing',
    'create rule "odd rule" as on insert to audit.findings do instead nothing',
  ],
  referenced_elsewhere: [
    `${shop}; create materialized view shop.members as table app.members; alter materialized view shop.members owner to shop`,
    `${shop}; create table shop.orders (club_id uuid references app.clubs (id)); alter table shop.orders owner to shop`,
    `${shop}; create table shop.orders (club_id uuid, member_id uuid, foreign key (club_id, member_id) references app.members); alter table shop.orders owner to shop`,
  ],
  object_owner: [
    'alter table app.shifts owner to postgres',
    'alter table deploy.releases owner to club_migrator',
    `create table app.notes (like app.tasks); alter table app.notes owner to club_signup`,
    'alter view audit.findings owner to postgres',
    'create view app.mine with (security_invoker) as select 1 as one',
    'alter view audit.policies owner to club_operator',
  ],
  view_reads_as_owner: [
    'create view app.everything as select * from app.tasks',
    'create view app.everything with (security_barrier) as select * from app.tasks',
    'create view app.everything with (security_invoker = off) as select * from app.tasks',
    'alter view audit.tables set (security_invoker = false)',
    'alter view audit.facts reset (security_invoker)',
  ],
};
