import type { Mutants } from '../mutation.js';

/** Functions of another application. */
const shop = `create role shop; create schema shop authorization shop; set local role shop;
  create function shop.ok(text) returns boolean language sql immutable return true;
  create function shop.ok(text, text) returns boolean language sql immutable return true; reset role`;

/** Weakenings of triggers and other objects that call functions, by the check that must find them. */
export const triggers: Mutants = {
  trigger_disabled: [
    'alter table app.shift_signups disable trigger all',
    'alter table app.tasks enable replica trigger tasks_guard',
    'alter table app.shifts enable always trigger shifts_stamp',
  ],
  schema_drift: [
    'comment on trigger tasks_guard on app.tasks is null',
    `create or replace trigger tasks_record after insert or update or delete on app.tasks for each row execute function app.record_event('task', 'state', 'title')`,
    `create or replace trigger shift_signups_record after insert or update or delete on app.shift_signups for each row execute function app.record_event('signup', '', '', 'member_id')`,
    'create or replace trigger members_record after insert on app.members for each row execute function app.record_event()',
    'drop trigger events_number on app.events; create constraint trigger events_number after insert on app.events deferrable for each row execute function app.number_events()',
    'drop trigger events_number on app.events; create trigger events_number after insert on app.events for each row execute function app.number_events()',
    'drop trigger events_number on app.events; create constraint trigger events_number after insert on app.events for each row execute function app.number_events()',
    'create or replace trigger tasks_guard before insert or update on app.tasks for each row when (false) execute function app.guard_task()',
    'create or replace trigger shifts_stamp after update on app.shifts for each row execute function app.stamp_shift()',
    'create trigger again before insert on app.members for each row execute function app.stamp_shift()',
    'create view app.open with (security_invoker) as table app.tasks; create trigger "In stead" instead of insert on app.open for each row execute function app.guard_task()',
    'alter trigger tasks_guard on app.tasks rename to aaa',
  ],
  trigger_function: [
    'create trigger idle before update on app.tasks for each row execute function suppress_redundant_updates_trigger()',
    `create function public.spy() returns trigger language plpgsql as 'begin return null; end'; create trigger "Sp y" before insert on app.members for each row execute function public.spy()`,
  ],
  expression_calls_function: [
    `alter table app.tasks alter column created_by_id set default current_setting('app.member_id')::uuid`,
    `create function app."O k"(text) returns boolean language sql return true; alter table app.tasks add constraint "fi ne" check (app."O k"(title))`,
    'create function app.ok(text) returns text language sql immutable return $1; create index fine on app.tasks (tenant_id, app.ok(title))',
    'create function public.made() returns text language sql return null::text; alter table app.tasks alter column description set default public.made()',
    `${shop}; alter table app.tasks add constraint "fi ne" check (shop.ok(title))`,
    `${shop}; alter table app.tasks alter column description set default shop.ok('')::text`,
    `${shop}; create index fine on app.tasks (tenant_id, shop.ok(title))`,
    `${shop}; create domain app.title as text check (shop.ok(value))`,
    `${shop}; set local role shop; create operator shop.== (leftarg = text, rightarg = text, function = shop.ok); reset role; alter table app.tasks add check (title operator(shop.==) title)`,
    'create function app.ok(text) returns boolean language sql return true; create domain app.title as text check (app.ok(value))',
    'create function app.ok(int) returns int language sql immutable return $1; create table app.parted (id int) partition by range (app.ok(id))',
  ],
  object_outside_schema: [
    `create function public.same(uuid, uuid) returns boolean language sql return true; create operator public.= (leftarg = uuid, rightarg = uuid, function = public.same)`,
    'create operator family public.fam using btree',
    `create default conversion public.latin for 'LATIN1' to 'UTF8' from iso8859_1_to_utf8`,
    'create type public.id as (id uuid); create function public.as_uuid(public.id) returns uuid language sql return $1.id; create cast (public.id as uuid) with function public.as_uuid(public.id) as implicit',
  ],
  object_in_catalog: [
    `create function app.same(uuid, uuid) returns boolean language sql return true; create operator app.= (leftarg = uuid, rightarg = uuid, function = app.same)`,
    `create default conversion app.latin for 'LATIN1' to 'UTF8' from iso8859_1_to_utf8`,
    `create function public.as_uuid(int) returns uuid language sql return null::uuid; create cast (int as uuid) with function public.as_uuid(int) as implicit`,
    'create function public.below(uuid, text) returns boolean language sql immutable return true; create operator public.< (leftarg = uuid, rightarg = text, function = public.below); alter operator family uuid_ops using btree add operator 1 public.< (uuid, text)',
  ],
};
