/** The mutants: each removes one rule. */
import type { Mutant } from './weaken.js';

const INSIDE = 'tenant_id = (select app.tenant_id())';

/** The service reads signups by their shift: without their floor it still finds no foreign ones. */
const FLOORS_SEEN: Record<string, Mutant['also']> = {
  members: ['http'],
  tasks: ['http'],
  shifts: ['http', 'rush'],
};

/** Mutants that a single client finds, in raw SQL. */
export const MUTANTS: Mutant[] = [
  ...['clubs', 'members', 'tasks', 'shifts', 'shift_signups'].map((table) => ({
    name: `no floor under ${table}`,
    sql: `drop policy ${table}_floor on app.${table}`,
    also: FLOORS_SEEN[table] ?? [],
  })),
  {
    name: 'a floor of tasks that does not apply to Managers',
    sql: `alter policy tasks_floor on app.tasks using (${INSIDE} or (select app.role()) >= 'Manager')`,
  },
  {
    name: 'a floor of members that applies to reads only',
    sql: `drop policy members_floor on app.members; drop policy members_refresh on app.members;
      create policy members_floor on app.members as restrictive for select to public using (${INSIDE});
      create policy members_refresh on app.members for update to club_api using (true) with check (true)`,
  },
  {
    name: 'Viewers read tasks',
    sql: `create policy open on app.tasks for select to club_api using (${INSIDE})`,
  },
  {
    name: 'Members make tasks',
    sql: `alter policy tasks_create on app.tasks with check ((select app.role()) >= 'Member')`,
  },
  {
    name: 'Members delete tasks',
    sql: `alter policy tasks_delete on app.tasks using ((select app.role()) >= 'Member')`,
  },
  {
    name: 'Members change shifts',
    sql: `alter policy shifts_edit on app.shifts
      using ((select app.role()) >= 'Member') with check ((select app.role()) >= 'Member')`,
  },
  {
    name: 'a workflow without its guard',
    sql: 'alter table app.tasks disable trigger tasks_guard',
  },
  {
    name: "anybody takes anybody's step",
    routine: 'app.guard_task()',
    replace: [['new.state <> all (app.allowed_transitions(old.state, old.assignee_id))', 'false']],
  },
  {
    name: 'anybody assigns anybody',
    routine: 'app.guard_task()',
    replace: [["app.role() < 'Manager'", 'false']],
  },
  {
    name: 'a task that is Done changes hands',
    routine: 'app.guard_task()',
    replace: [["elsif old.state = 'Done'", 'elsif false']],
  },
  {
    name: 'a version that is never incremented',
    also: ['http', 'rush'],
    routine: 'app.guard_task()',
    replace: [['new.version := old.version + 1', 'new.version := old.version']],
  },
  {
    name: 'a version that is incremented without a change',
    routine: 'app.guard_task()',
    replace: [['new is not distinct from old', 'false']],
  },
  {
    name: 'steps that every caller may take',
    routine: 'app.allowed_transitions(text, uuid)',
    replace: [["step.performer = 'member'", 'true']],
  },
  {
    name: 'signing up for a past shift',
    routine: 'app.sign_up(uuid)',
    replace: [['shift.starts_at <= signed_up_at', 'false']],
  },
  {
    name: 'signing up beyond the capacity',
    sql: 'alter table app.shifts drop constraint shifts_capacity_holds_signups',
    routine: 'app.sign_up(uuid)',
    replace: [['shift.signup_count >= shift.capacity', 'false']],
  },
  {
    name: 'signing up the creator of the shift',
    sql: `alter policy shift_signups_sign_up on app.shift_signups with check ((select app.role()) >= 'Member')`,
    routine: 'app.sign_up(uuid)',
    replace: [['values (shift.id, caller_id,', 'values (shift.id, shift.created_by_id,']],
  },
  {
    name: 'signing up another member',
    sql: `grant insert (shift_id, member_id) on app.shift_signups to club_api;
      alter policy shift_signups_sign_up on app.shift_signups to club_api, club_signup
      with check ((select app.role()) >= 'Member')`,
  },
  {
    name: 'cancelling every signup of the shift',
    sql: `alter policy shift_signups_cancel on app.shift_signups using ((select app.role()) >= 'Member')`,
    routine: 'app.cancel_sign_up(uuid)',
    replace: [['and s.member_id = caller_id', '']],
  },
  {
    name: 'cancelling after the start',
    routine: 'app.cancel_sign_up(uuid)',
    replace: [['shift.starts_at <= clock_timestamp()', 'false']],
  },
  {
    name: 'a counter that never goes down',
    routine: 'app.count_signups()',
    replace: [['s.signup_count - 1', 's.signup_count']],
  },
  {
    name: 'a signup that is a change of the shift',
    routine: 'app.stamp_shift()',
    replace: [
      ['new.capacity)', 'new.capacity, new.signup_count)'],
      ['old.capacity)', 'old.capacity, old.signup_count)'],
    ],
  },
  {
    name: 'a closed club that stays open',
    sql: `alter policy clubs_read on app.clubs using ((select app.role()) >= 'Viewer')`,
  },
  {
    name: 'a closed club that is still listed',
    sql: 'alter policy clubs_list on app.clubs using (true)',
  },
  {
    name: 'every club is listed for every caller',
    also: ['http'],
    sql: `alter policy clubs_directory_floor on app.clubs using (true);
      alter policy clubs_list on app.clubs using (closed_at is null)`,
  },
  {
    name: 'an erased member keeps the personal data',
    routine: 'app.erase_member(uuid, uuid)',
    replace: [["external_user_id = 'erased:' || member.id, ", '']],
  },
  {
    name: 'any caller updates any member',
    sql: 'alter policy members_refresh on app.members using (true) with check (true)',
  },
  {
    name: 'any caller creates any member',
    sql: 'alter policy members_join on app.members with check (true)',
  },
  {
    name: 'a role of one’s own choice',
    sql: 'alter policy members_refresh on app.members with check (external_user_id = (select app.user_id()))',
  },
  {
    name: 'an older token that overrides',
    routine: 'app.sync_member(text, text, timestamp with time zone)',
    replace: [['excluded.token_issued_at >= member.token_issued_at', 'true']],
  },
  {
    name: 'a missing tenant without an error',
    sql: `create or replace function app.tenant_id() returns uuid language sql stable parallel safe
      return nullif(current_setting('app.tenant_id', true), '')::uuid`,
  },
];

/** Mutants that only concurrent clients find. */
export const RUSH_MUTANTS: Mutant[] = [
  {
    name: 'signing up without the lock',
    routine: 'app.sign_up(uuid)',
    replace: [[' for no key update', '']],
  },
  {
    name: 'signing up without the lock and without the constraint',
    sql: 'alter table app.shifts drop constraint shifts_capacity_holds_signups',
    routine: 'app.sign_up(uuid)',
    replace: [[' for no key update', '']],
  },
];
