/**
 * The queries of an audit and the types of their rows. They have no parameters. Values are texts of the database.
 */
import { type Query, sql } from '../database/sql.js';

/** The database and its server. */
export interface Server {
  database: string;
  login: string;
  version: string;
  major: number;
  standby: boolean;
  /** When the audit was run. */
  at: string;
  /** The SHA-256 of the facts. */
  fingerprint: string;
}

export const server: Query<Server> = sql`
  select current_database()::text as database, session_user::text as login,
    current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
    pg_is_in_recovery() as standby,
    to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at, audit.fingerprint() as fingerprint`;

/** A deploy. */
export interface LastDeploy {
  release: string;
  at: string;
}

export const deployed: Query<LastDeploy> = sql`
  select fingerprint as release, to_char(applied_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at
  from deploy.releases order by applied_at desc limit 1`;

/** A difference between the database and what is intended. */
export interface Finding {
  code: string;
  severity: string;
  object: string;
  title: string;
  detail: string;
  why: string;
  /** The SQL that fixes it; null when a deploy fixes it. */
  fix: string | null;
}

/** Every other severity counts as critical, also one that this code does not know. */
export const isWarning = ({ severity }: Pick<Finding, 'severity'>) => severity === 'warning';

export const findings: Query<Finding> = sql`
  select
    found.code, found.severity, found.object, found.title, found.detail, coalesce(checks.why, 'unknown') as why, found.fix
  from audit.findings as found
  left join audit.checks as checks on checks.code = found.code
  order by found.severity, found.code, found.object, found.detail`;

/** A fact that is worth knowing and is not a finding. */
export interface Note {
  topic: string;
  object: string;
  detail: string;
}

export const notes: Query<Note> = sql`select topic, object, detail from audit.notes order by topic, object, detail`;

/** A role of the service. */
export interface Role {
  role: string;
  purpose: string;
  can_login: boolean;
  why: string;
}

export const roles: Query<Role> = sql`
  select roles.role::text, roles.purpose, roles.can_login, intended.why
  from audit.roles as roles
  join audit.intended_roles as intended on intended.role = roles.role
  order by roles.role`;

/** A direct or indirect membership of a role in another role. */
export interface Membership {
  /** The path from the member to the role, with every role between. */
  path: string[];
  may_become: boolean;
  inherits: boolean;
}

export const memberships: Query<Membership> = sql`
  with recursive edge as (
    select member::text, role::text, bool_or(may_become) as may_become, bool_or(inherits) as inherits
    from audit.memberships group by member, role
  ), reach as (
    select array[member, role] as path, may_become, inherits from edge
    union all
    select reach.path || edge.role, reach.may_become and edge.may_become, reach.inherits and edge.inherits
    from reach join edge on edge.member = reach.path[cardinality(reach.path)]
  )
  select path, may_become, inherits from reach
  where exists (
    select from audit.roles as ours where ours.purpose is not null and ours.role::text in (path[1], path[cardinality(path)])
  )
  order by path`;

/** What a role may do with a table. */
export interface Access {
  relation: string;
  role: string;
  verb: string;
  /** Null for all columns. */
  columns: string[] | null;
  policies: string[];
}

export const access: Query<Access> = sql`
  select relation, role::text, verb, columns::text[], policies::text[] from audit.access
  order by relation, array_position(array['select', 'insert', 'update', 'delete'], verb), role`;

/** A policy, as the catalog has it. */
export interface Policy {
  relation: string;
  name: string;
  restrictive: boolean;
  command: string;
  roles: string[];
  using: string | null;
  check: string | null;
  comment: string | null;
}

export const policies: Query<Policy> = sql`
  select relation, name::text, restrictive, command, roles::text[],
    using_expression as using, check_expression as check, comment
  from audit.policies order by relation, restrictive desc, name`;
