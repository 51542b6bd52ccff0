/**
 * The SQL of the rivals: the queries of tasks, shifts and signups in src, with the JSON names as column aliases, so that no
 * field must be renamed. Each statement is prepared under its name.
 */
import type { Caller } from './caller.js';
import type { PageQuery, TaskPatch, Window } from './input.js';

export interface Statement {
  name: string;
  text: string;
  values: (string | number | null)[];
}

export interface Entered {
  clubExists: boolean;
  memberId: string | null;
  isCurrent: boolean | null;
}

export interface TaskRow {
  id: string;
  version: number;
}

const assigneeName = `(
    select assignee.display_name from app.members as assignee
    where assignee.tenant_id = task.tenant_id and assignee.id = task.assignee_id
  )`;
const listed = (
  name: string,
) => `task.id, task.title, task.state, task.assignee_id as "assigneeId", ${name} as "assigneeName",
  task.due_at as "dueAt", task.created_at as "createdAt", task.updated_at as "updatedAt", task.version`;
const detailed = (
  name: string,
) => `${listed(name)}, task.tenant_id as "clubId", task.description, task.created_by_id as "createdById",
  task.completed_at as "completedAt", app.allowed_transitions(task.state, task.assignee_id) as "allowedTransitions"`;
const listedTask = listed(assigneeName);
const detailedTask = detailed(assigneeName);
const patchedTask = detailed('task.assignee_name');

/** A response as it is stored for a key. */
export interface StoredResponse {
  status: number;
  location: string;
  body: string;
}

/** Sets app.tenant_id, app.user_id, app.role and app.member_id in the transaction, and finds the member. */
export function enter({ tenantId, subject, role, displayName, email, issuedAt }: Caller): Statement {
  return {
    name: 'enter',
    text: `select club_exists as "clubExists", member_id as "memberId", member_is_current as "isCurrent"
      from app.enter(
        tenant_id => $1, user_id => $2, role => $3, display_name => $4, email => $5, issued_at => $6)`,
    values: [tenantId, subject, role, displayName, email, issuedAt],
  };
}

/** Inserts or updates the caller's row in app.members. */
export function syncMember({ displayName, email, issuedAt }: Caller): Statement {
  return {
    name: 'sync',
    text: 'select app.sync_member($1, $2, $3)',
    values: [displayName, email, issuedAt],
  };
}

/** A page of the club's tasks, the newest first. */
export function tasksPage({ limit, after }: PageQuery): Statement {
  const [name, where, values] = after
    ? ['after', 'where (task.created_at, task.id) < ($2, $3)', [limit + 1, after.key, after.id]]
    : ['page', '', [limit + 1]];
  return {
    name: `tasks-${name}`,
    text: `select ${listedTask} from app.tasks as task ${where}
      order by task.created_at desc, task.id desc limit $1`,
    values,
  };
}

/** A task with all its columns. */
export function task(id: string): Statement {
  return {
    name: 'task',
    text: `select ${detailedTask} from app.tasks as task where task.id = $1`,
    values: [id],
  };
}

/** Changes a task; errors are SQLSTATEs. */
export function patchTask(id: string, { version, dueAt, assigneeId, ...others }: TaskPatch): Statement {
  const columns = { ...others, due_at: dueAt, assignee_id: assigneeId };
  return {
    name: 'patch-task',
    text: `select ${patchedTask} from (
      select (patched.task).*, patched.assignee_name from app.patch_task($1, $2::text::jsonb, $3, null) as patched
    ) as task`,
    values: [id, JSON.stringify(columns), version ?? null],
  };
}

/** The shifts that overlap the window. */
export function shiftsWindow({ from, to, limit, after }: Window): Statement {
  return {
    name: after ? 'shifts-after' : 'shifts',
    text: `select shift.id, shift.title, shift.location, shift.starts_at as "startsAt", shift.ends_at as "endsAt", shift.capacity,
        shift.signup_count as "signupCount", shift.capacity - shift.signup_count as "freeSlots",
        (
          select true from app.shift_signups as own where own.shift_id = shift.id and own.member_id = (select app.member_id())
        ) is true as "isSignedUp", shift.wait_count as "waitCount",
        shift.wait_count > 0 and (
          select true from app.shift_waits as own where own.shift_id = shift.id and own.member_id = (select app.member_id())
        ) is true as "isWaiting", shift.signup_opens_at as "signupOpensAt", shift.signup_closes_at as "signupClosesAt",
        shift.cancel_until as "cancelUntil", shift.batch_id as "batchId", shift.version
      from app.shifts as shift
      where shift.ends_at > $1 and shift.starts_at > $1::timestamptz - interval '31 days' and shift.starts_at < $2
        ${after ? 'and (shift.starts_at, shift.id) > ($4, $5)' : ''}
      order by shift.starts_at, shift.id limit $3`,
    values: [from, to, limit + 1, ...(after ? [after.key, after.id] : [])],
  };
}

/** Signs the caller up; errors are SQLSTATEs. */
export function signUp(shiftId: string): Statement {
  return {
    name: 'sign-up',
    text: `select signup.id, signup.shift_id as "shiftId", signup.member_id as "memberId", member.display_name as "memberName",
        signup.created_by_id as "createdById", signup.created_at as "createdAt", signup.promoted_at as "promotedAt"
      from app.sign_up($1) as signup join app.members as member on member.id = signup.member_id`,
    values: [shiftId],
  };
}

/** Cancels the caller's signup; errors are SQLSTATEs. */
export function cancelSignUp(shiftId: string): Statement {
  return { name: 'cancel', text: 'select app.cancel_sign_up($1)', values: [shiftId] };
}

/** Reserves a key for a request, or returns the stored response of an earlier one. */
export function claimKey(key: string, fingerprint: string): Statement {
  return {
    name: 'claim-key',
    text: "select status, location, body from app.claim_key($1, decode($2, 'hex'))",
    values: [key, fingerprint],
  };
}

/** Stores the response of the request that reserved the key. */
export function storeResponse(key: string, { status, location, body }: StoredResponse): Statement {
  return {
    name: 'store-response',
    text: 'select app.keep_answer($1, $2, $3, null, $4)',
    values: [key, status, location, body],
  };
}
