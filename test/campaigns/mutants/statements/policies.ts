import type { Mutants } from '../mutation.js';

const floor = (table: string, rest: string) =>
  `drop policy ${table}_floor on app.${table}; create policy ${table}_floor on app.${table} ${rest}`;
const same = '(tenant_id = (select app.tenant_id()))';

/** Weakenings of policies, by the check that must find them. */
export const policies: Mutants = {
  floor_missing: [
    'drop policy tasks_floor on app.tasks',
    'drop policy clubs_directory_floor on app.clubs',
    'drop policy clubs_registry_floor on app.clubs',
    floor('members', `as permissive for all to public using ${same}`),
    floor('shifts', `as restrictive for select to public using ${same}`),
    floor('shifts', `as restrictive for all to club_signup using ${same} with check ${same}`),
    'alter policy shift_signups_floor on app.shift_signups to club_signup',
    'alter policy clubs_floor on app.clubs to club_operator',
    'alter policy tasks_floor on app.tasks using (true)',
    'alter policy tasks_floor on app.tasks using (tenant_id = (select app.tenant_id()) or true)',
    'grant select on app.clubs to club_signup',
    'alter policy members_floor on app.members using (tenant_id is not null)',
  ],
  floor_loose: [
    'alter policy tasks_floor on app.tasks with check (true)',
    'alter policy tasks_floor on app.tasks using (true) with check (true)',
    'alter policy shifts_floor on app.shifts using (tenant_id >= (select app.tenant_id()))',
    'alter policy shifts_floor on app.shifts with check (tenant_id <> (select app.tenant_id()))',
    `alter policy members_floor on app.members using (tenant_id = (select app.tenant_id()) or (select app.role()) = 'Admin')`,
    'alter policy members_floor on app.members using (tenant_id::text = (select app.tenant_id())::text)',
    'alter policy clubs_floor on app.clubs using (closed_at is null)',
    'alter policy clubs_directory_floor on app.clubs with check (true)',
    'alter policy clubs_registry_floor on app.clubs with check (true)',
    `alter policy idempotency_keys_expiry_floor on app.idempotency_keys using (created_at < now() - interval '1 hour')`,
    'alter policy idempotency_keys_expiry_floor on app.idempotency_keys with check (true)',
    'alter policy clubs_directory_floor on app.clubs using (true)',
    'alter policy tasks_floor on app.tasks using (tenant_id = coalesce((select app.tenant_id()), tenant_id))',
    'alter policy tasks_floor on app.tasks using (id = (select app.tenant_id()))',
    `alter policy tasks_floor on app.tasks using (tenant_id = '11111111-1111-4111-8111-111111111111')`,
    'alter policy tasks_floor on app.tasks using (tenant_id = any (array[(select app.tenant_id()), created_by_id]))',
  ],
  floor_without_check: [
    floor('tasks', `as restrictive for all to public using ${same}`),
    floor('members', `as restrictive for all to public using ${same}`),
  ],
  policy_always_true: [
    'create policy open on app.tasks using (true)',
    'create policy open on app.tasks for insert to club_api with check (true)',
    'alter policy shifts_read on app.shifts using (true)',
    // Only the registry may have policies that are always true, and only to read clubs.
    'alter policy clubs_register on app.clubs to club_registry, club_api',
    'create policy open on app.clubs for all to club_registry using (true) with check (true)',
    'create policy open on app.clubs for all to club_registry using (true)',
    'create policy open on app.clubs for delete to club_registry using (true)',
    'grant select (id) on app.shifts to club_registry; create policy open on app.shifts for select to club_registry using (true)',
    `alter policy shifts_edit on app.shifts using ((select app.role()) >= 'Manager' or true)`,
    ...[
      '1 = 1',
      'not false',
      'coalesce(true, false)',
      'null is null',
      'tenant_id = tenant_id',
      'tenant_id is not distinct from tenant_id',
      'tenant_id in (tenant_id)',
      'tenant_id is not null',
      'exists (select 1)',
      '(select app.tenant_id()) is not null',
      '(select app.role()) = (select app.role())',
      `now() > '2000-01-01'`,
    ].map((expression) => `create policy open on app.tasks for select to club_api using (${expression})`),
  ],
  policy_form: [
    `alter policy tasks_read on app.tasks using (tenant_id = (select app.tenant_id()) or id is null)`,
    `alter policy tasks_read on app.tasks using (coalesce((select app.role()) >= 'Admin', true))`,
    'alter policy tasks_read on app.tasks using (tenant_id <> (select app.tenant_id()))',
    `alter policy tasks_read on app.tasks using (case when (select app.role()) >= 'Admin' then true else id is not null end)`,
    `alter policy tasks_edit on app.tasks with check (length((select app.user_id())) > 0)`,
    'alter policy tasks_read on app.tasks using (tenant_id in (select (select app.tenant_id()) union select id))',
  ],
  policy_without_context: [
    'create policy open on app.tasks for select to club_api using (1 = 1)',
    'alter policy tasks_delete on app.tasks using (tenant_id = tenant_id)',
    'alter policy tasks_read on app.tasks using (tenant_id is not null)',
    `create policy open on app.members for select to club_api using (role = 'Admin')`,
    'alter policy tasks_create on app.tasks with check (version = 1)',
    "create policy open on app.shifts for select to club_api using (current_user = 'club_api')",
  ],
  policy_reads_setting: [
    `create policy direct on app.tasks for select to club_api using (tenant_id::text = current_setting('app.tenant_id', true))`,
    `alter policy tasks_floor on app.tasks using (tenant_id = (select current_setting('app.tenant_id', true)::uuid))`,
    `alter policy shifts_read on app.shifts using ((select pg_catalog.current_setting('app.role')) = 'Viewer')`,
    `create policy sneaky on app.tasks for select to club_api using (set_config('app.role', 'Admin', true) is not null)`,
  ],
  policy_calls_function: [
    `create function app.mine(uuid) returns boolean language sql stable return $1 = app.tenant_id(); create policy mine on app.tasks for select to club_api using (app.mine(tenant_id))`,
    `create function public.yes() returns boolean language sql stable return true; alter policy tasks_read on app.tasks using (public.yes())`,
    'create policy odd on app.tasks for select to club_api using (id <> app.new_id())',
    `create role shop; create schema shop authorization shop; create function shop.yes() returns boolean language sql stable return true; alter function shop.yes() owner to shop; alter policy tasks_read on app.tasks using (shop.yes())`,
    `create function app.current_club() returns uuid language sql stable return app.tenant_id(); alter policy tasks_floor on app.tasks using (tenant_id = (select app.current_club()))`,
  ],
  policy_calls_immutable: [
    `create function app.fixed() returns uuid language sql immutable as $$ select current_setting('app.tenant_id', true)::uuid $$; create policy fixed on app.tasks for select to club_api using (tenant_id = app.fixed())`,
    'alter function app.tenant_id() immutable',
    'alter function app.role() immutable',
  ],
  policy_reads_table: [
    'create policy peers on app.tasks for select to club_api using (exists (select from app.members where members.id = tasks.assignee_id))',
    `alter policy shifts_edit on app.shifts using ((select count(*) from app.clubs) > 0 and (select app.role()) >= 'Manager')`,
  ],
  accessor_not_wrapped: [
    'create policy slow on app.tasks for select to club_api using (tenant_id = app.tenant_id())',
    `alter policy tasks_read on app.tasks using (app.role() >= 'Member')`,
    'alter policy shifts_floor on app.shifts using (tenant_id = app.tenant_id())',
  ],
  policy_for_public: [
    `alter policy tasks_read on app.tasks to public`,
    `create policy everybody on app.members for select using ((select app.role()) >= 'Viewer')`,
  ],
  policy_for_owner: [
    `create policy owner on app.tasks for select to club_owner using ((select app.role()) >= 'Viewer')`,
    'alter policy members_read on app.members to club_api, club_owner',
    'alter policy members_read on app.members to club_migrator',
    'alter policy shifts_read on app.shifts to postgres',
    'create role giant bypassrls; alter policy shifts_read on app.shifts to giant',
  ],
  policy_for_stranger: [
    'create role reporting; alter policy tasks_read on app.tasks to club_api, reporting',
    'alter policy tasks_read on app.tasks to club_auditor',
    'alter policy tasks_read on app.tasks to pg_monitor',
  ],
  policy_without_comment: [
    'comment on policy tasks_floor on app.tasks is null',
    `create policy silent on app.tasks for select to club_api using ((select app.role()) >= 'Admin')`,
  ],
  policy_without_grant: [
    'create policy waiting on app.members for delete to club_api using (tenant_id = (select app.tenant_id()))',
    `create policy waiting on app.tasks for select to club_signup using ((select app.role()) >= 'Admin')`,
  ],
  not_forgettable: [
    'drop policy tasks_forget on app.tasks',
    'revoke delete on app.shifts from club_operator',
    'create table app.notes (tenant_id uuid not null)',
  ],
  policy_on_open_table: [
    'alter table app.tasks disable row level security',
    'create table app.notes (tenant_id uuid not null); create policy notes_floor on app.notes as restrictive using (tenant_id = (select app.tenant_id()))',
  ],
};
