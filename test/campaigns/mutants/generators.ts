import { readRoles } from '../../../src/deploy/roles.js';
import type { TestDatabase } from '../../setup/database.js';
import type { Mutants } from './mutation.js';

/** Weakens each object of a kind in the same ways. */
interface Generator {
  /** The objects: their names, or a query. `{table}` in a statement is the column `table` of an object. */
  objects: Record<string, string>[] | string;
  mutants: Mutants;
}

const roles = readRoles();
const rolesFor = (...purposes: string[]) =>
  roles.filter(({ purpose }) => purposes.includes(purpose)).map(({ name }) => ({ role: name }));

const TABLES = `
  select attrelid::regclass as "table", quote_ident(attname) as tenant
  from pg_attribute join pg_class on pg_class.oid = attrelid and relkind in ('r', 'p')
  where relnamespace = 'app'::regnamespace
    and attname = case attrelid when 'app.clubs'::regclass then 'id' else 'tenant_id' end`;
/** The tables, with each role that has a privilege on them. */
const HOLDERS = `
  select tables.*, role
  from (${TABLES}) as tables
  cross join unnest('{${rolesFor('runtime', 'capability').map(({ role }) => role)}}'::name[]) as role
  where has_any_column_privilege(role, tables.table, 'select, insert, update')
    or has_table_privilege(role, tables.table, 'delete')`;
const POLICIES = `
  select polrelid::regclass as "table", quote_ident(polname) as policy,
    pg_get_expr(polqual, polrelid) as visible, pg_get_expr(polwithcheck, polrelid) as writable
  from pg_policy where polpermissive`;
const FUNCTIONS = `
  select pg_proc.oid::regprocedure as "function" from pg_proc
  where pronamespace = 'app'::regnamespace and prokind in ('f', 'p')`;
const TRIGGERS = `
  select tgrelid::regclass as "table", quote_ident(tgname) as trigger from pg_trigger where not tgisinternal`;

/** The weakenings of each object of the service, as the catalog has them. */
const GENERATORS: Generator[] = [
  {
    objects: TABLES,
    mutants: {
      rls_disabled: ['alter table {table} disable row level security'],
      rls_not_forced: ['alter table {table} no force row level security'],
      object_owner: ['alter table {table} owner to club_api'],
      granted_to_public: ['grant select on {table} to public'],
      granted_to_stranger: ['create role reporting; grant select on {table} to reporting'],
      granted_to_auditor: ['grant select ({tenant}) on {table} to club_auditor'],
      grant_unlimited: ['grant references on {table} to club_api', 'grant trigger on {table} to club_api'],
      grant_tenant_column: ['grant insert ({tenant}) on {table} to club_api'],
      schema_drift: ['comment on table {table} is null'],
    },
  },
  {
    objects: `
      select tables.*, (
        select quote_ident(attname) from pg_attribute
        where attrelid = tables.table and attname <> 'tenant_id' and attnum > 0 order by attnum limit 1
      ) as "column"
      from (${TABLES}) as tables where tenant = 'tenant_id'`,
    mutants: {
      tenant_column: ['alter table {table} rename column tenant_id to club_id'],
      unique_without_tenant: ['create unique index on {table} ({column})'],
      schema_drift: ['alter table {table} alter column tenant_id drop default'],
    },
  },
  {
    objects: `
      select oid::regclass as "table" from pg_class
      where relnamespace in ('app'::regnamespace, 'deploy'::regnamespace) and relkind in ('r', 'p')
        and oid not in (select "table" from (${TABLES}) as tables)`,
    mutants: {
      reference_table_writable: [
        'grant insert on {table} to club_api',
        'grant update on {table} to club_signup',
        'grant delete on {table} to club_api',
      ],
    },
  },
  {
    objects: `
      select tables.*, quote_ident(polname) as floor
      from (${TABLES}) as tables join pg_policy on polrelid = tables.table where not polpermissive`,
    mutants: {
      floor_missing: [
        'drop policy {floor} on {table}',
        'alter policy {floor} on {table} to club_owner',
        'alter policy {floor} on {table} using ({tenant} is not null)',
        'alter policy {floor} on {table} with check ({tenant} is not null)',
      ],
    },
  },
  { objects: POLICIES, mutants: { schema_drift: ['drop policy {policy} on {table}'] } },
  {
    objects: `select * from (${POLICIES}) as policies where visible <> 'true'`,
    mutants: { isolation_drift: ['alter policy {policy} on {table} using (true)'] },
  },
  {
    objects: `select * from (${POLICIES}) as policies where writable <> 'true'`,
    mutants: { isolation_drift: ['alter policy {policy} on {table} with check (true)'] },
  },
  {
    objects: HOLDERS,
    mutants: {
      grant_unlimited: ['grant truncate on {table} to {role}'],
      grant_tenant_column: ['grant update ({tenant}) on {table} to {role}'],
    },
  },
  {
    objects: `
      select holders.*, privilege
      from (${HOLDERS}) as holders cross join unnest('{select,insert,update,delete}'::text[]) as privilege
      where not has_table_privilege(role, holders.table, privilege)`,
    mutants: { isolation_drift: ['grant {privilege} on {table} to {role}'] },
  },
  {
    // What the service writes, and requests do not.
    objects: `
      select tables.*, privilege, quote_ident(attname) as "column"
      from (${TABLES}) as tables
      cross join unnest('{insert,update}'::text[]) as privilege
      join pg_attribute on attrelid = tables.table and attnum > 0 and not attisdropped and attname <> tenant
      where has_any_column_privilege('club_api', tables.table, privilege)
        and not has_column_privilege('club_api', tables.table, attnum, privilege)`,
    mutants: { isolation_drift: ['grant {privilege} ({column}) on {table} to club_api'] },
  },
  {
    objects: `
      select conrelid::regclass as "table", confrelid::regclass as referenced,
        quote_ident(source.attname) as "column", quote_ident(target.attname) as key
      from pg_constraint
      join pg_attribute as source on source.attrelid = conrelid and source.attnum = any (conkey)
      join pg_attribute as target on target.attrelid = confrelid and target.attnum = any (confkey)
      where contype = 'f' and cardinality(conkey) = 2 and 'tenant_id' not in (source.attname, target.attname)`,
    mutants: {
      foreign_key_without_tenant: [
        `alter table {referenced} add constraint other_key unique ({key});
         alter table {table} add foreign key ({column}) references {referenced} ({key})`,
      ],
    },
  },
  { objects: FUNCTIONS, mutants: { granted_to_public: ['grant execute on routine {function} to public'] } },
  {
    objects: `${FUNCTIONS} and not prosecdef`,
    mutants: { definer_unintended: ['alter routine {function} security definer'] },
  },
  {
    objects: `${FUNCTIONS} and prosecdef`,
    mutants: {
      definer_unintended: ['alter routine {function} owner to club_owner'],
      function_unsafe: ['alter routine {function} reset search_path'],
      isolation_drift: ['alter routine {function} security invoker'],
    },
  },
  {
    // The accessors are what policies call.
    objects: `${FUNCTIONS} and oid in (
      select refobjid from pg_depend where classid = 'pg_policy'::regclass and refclassid = 'pg_proc'::regclass
    )`,
    mutants: {
      accessor_changed: [
        'alter function {function} volatile',
        'alter function {function} security definer',
        'alter function {function} rename to other',
      ],
      policy_calls_function: ['alter function {function} immutable'],
    },
  },
  {
    objects: `${FUNCTIONS} and proowner in ('club_operator'::regrole, 'club_registry'::regrole)`,
    mutants: { operator_function_granted: ['grant execute on routine {function} to club_api'] },
  },
  {
    objects: TRIGGERS,
    mutants: {
      trigger_disabled: ['alter table {table} disable trigger {trigger}'],
      schema_drift: ['drop trigger {trigger} on {table}'],
    },
  },
  {
    objects: rolesFor('owner', 'deploy', 'runtime', 'auditor', 'capability'),
    mutants: {
      role_beyond_rls: ['superuser', 'bypassrls', 'createrole', 'replication'].map(
        (attribute) => `alter role {role} ${attribute}`,
      ),
      role_creates_databases: ['alter role {role} createdb'],
    },
  },
  {
    objects: rolesFor('deploy', 'runtime', 'auditor'),
    mutants: { role_unusable: ['alter role {role} nologin'] },
  },
  {
    objects: rolesFor('owner', 'deploy', 'runtime', 'capability'),
    mutants: { role_lent: ['create role alice login; grant {role} to alice'] },
  },
  {
    objects: rolesFor('owner', 'capability'),
    mutants: {
      role_login: ['alter role {role} login'],
      role_reachable: ['grant {role} to club_api'],
      role_hands_on: ['grant {role} to club_migrator with admin option'],
      role_unusable: ['revoke {role} from club_migrator'],
    },
  },
  {
    objects: `
      select setrole::regrole as role, split_part(item, '=', 1) as setting
      from pg_db_role_setting cross join unnest(setconfig) as item
      where setrole::regrole::text = any ('{${roles.map(({ name }) => name)}}') and setdatabase = 0`,
    mutants: { schema_drift: ['alter role {role} reset {setting}'] },
  },
];

/** The statements of all generators, by the code of the check that must find each. */
export async function generateMutants(db: TestDatabase): Promise<Mutants[]> {
  const generated: Mutants[] = [];
  for (const { objects, mutants } of GENERATORS) {
    const rows = typeof objects === 'string' ? await db.queryAsAdmin(objects) : objects;
    if (rows.length === 0) {
      throw new Error(`The catalog has no such object: ${objects}`);
    }
    const fill = (statement: string) =>
      rows.map((row) => statement.replaceAll(/\{(\w+)\}/g, (_, column) => row[column]));
    const entries = Object.entries(mutants).map(([code, statements]) => [code, statements.flatMap(fill)]);
    generated.push(Object.fromEntries(entries));
  }
  return generated;
}
