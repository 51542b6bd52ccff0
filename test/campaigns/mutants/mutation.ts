import type pg from 'pg';
import type { Test } from 'tap';
import type { TestDatabase } from '../../setup/database.js';
import { generateMutants } from './generators.js';
import { constraints, constraintsOf18, grantsOf17 } from './statements/constraints.js';
import { functions } from './statements/functions.js';
import { grants, grantsOf18 } from './statements/grants.js';
import { policies } from './statements/policies.js';
import { roles, rolesBefore16, rolesOf16 } from './statements/roles.js';
import { drift, server } from './statements/server.js';
import { tables } from './statements/tables.js';
import { triggers } from './statements/triggers.js';

/** Weakenings of the database as SQL, by the code of the check that must find each. */
export type Mutants = Record<string, string[]>;

interface Outcome {
  code: string;
  mutant: string;
  /** Whether the check found it. */
  killed: boolean;
  /** What is wrong with the fixing SQL of the finding; undefined when it works. */
  unmended: string | undefined;
  /** The columns and functions of the deploy that the fixing SQL dropped. */
  dropped: string[];
}

interface Finding {
  code: string;
  object: string;
  fix: string;
}

/** Every weakening that this version of PostgreSQL supports. */
export async function mutantsOf(db: TestDatabase): Promise<Mutants> {
  const [version] = await db.queryAsAdmin(
    `select current_setting('server_version_num')::int / 10000 as major`,
  );
  const major = version?.major;
  const lists = [tables, policies, roles, grants, functions, triggers, constraints, server, drift];
  lists.push(major >= 16 ? rolesOf16 : rolesBefore16);
  lists.push(...(major >= 17 ? [grantsOf17] : []), ...(major >= 18 ? [grantsOf18, constraintsOf18] : []));
  lists.push(...(await generateMutants(db)));
  const mutants: Mutants = {};
  for (const [code, statements] of lists.flatMap((list) => Object.entries(list))) {
    mutants[code] = [...(mutants[code] ?? []), ...statements];
  }
  return mutants;
}

/** Asserts that the check of each weakening finds it, that every check finds one, and that its SQL fixes it. */
export async function tryAll(t: Test, client: pg.Client, mutants: Mutants): Promise<void> {
  const views = await findingViews(client);
  t.same((await client.query('table audit.findings')).rows, [], 'a fresh deploy has none');

  const outcomes: Outcome[] = [];
  for (const [code, statements] of Object.entries(mutants)) {
    for (const statement of statements) {
      outcomes.push(await tryMutant(client, views.get(code) ?? code, code, statement));
    }
  }
  const killers = new Set(outcomes.filter(({ killed }) => killed).map(({ code }) => code));
  const checks = [...views.keys()];
  const say = ({ code, mutant, unmended }: Outcome) => `${code}: ${mutant} => ${unmended}`;
  t.same(outcomes.filter(({ killed }) => !killed).map(say), [], 'every weakening is found');
  t.same(
    outcomes.filter(({ unmended }) => unmended !== undefined).map(say),
    [],
    'every finding is fixed by its SQL',
  );
  t.same(
    outcomes.filter(({ dropped }) => dropped.length > 0).map(({ mutant, dropped }) => [mutant, dropped]),
    [],
    'no fix drops a table, a column or a function that the deploy created',
  );
  t.same(
    checks.filter((code) => !killers.has(code)),
    [],
    'every check finds something',
  );
  t.same((await client.query('table audit.findings')).rows, [], 'nothing is left behind');
  t.comment(
    `mutants: ${outcomes.length}, killed: ${outcomes.filter(({ killed }) => killed).length}, ` +
      `checks: ${checks.length}, checks that killed: ${killers.size}`,
  );
}

/** The view of findings of each check. */
async function findingViews(client: pg.Client): Promise<Map<string, string>> {
  const views = new Map<string, string>();
  const { rows } = await client.query(
    `select relation from audit.views where relation ~ '^audit\\.\\w+_checks$' order by relation`,
  );
  for (const { relation } of rows) {
    const { rows: checks } = await client.query(`select code from ${relation}`);
    for (const { code } of checks) {
      views.set(code, relation.replace(/_checks$/, '_findings'));
    }
  }
  return views;
}

/** The columns of tables and the functions, by their numbers: one that was renamed or moved is the same. */
async function readObjects(client: pg.Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ id: string; name: string }>(
    `select concat_ws(' ', catalog, number, part) as id, pg_describe_object(catalog, number, part) as name
     from (
       select 'pg_class'::regclass, attrelid, attnum from pg_attribute join pg_class on pg_class.oid = attrelid
       where attnum > 0 and not attisdropped and relkind = 'r' and attrelid >= 16384
       union all
       select 'pg_proc'::regclass, oid, 0 from pg_proc where oid >= 16384
     ) as object (catalog, number, part)`,
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/**
 * Applies a weakening in a transaction that is rolled back. Tests whether its check finds it, and whether the
 * SQL of the finding removes the finding.
 */
async function tryMutant(client: pg.Client, view: string, code: string, mutant: string): Promise<Outcome> {
  const named = async () => {
    // Without SQL of its own a deploy undoes the change, which a test of the deploy shows. Prepared: planning takes longest.
    const text = `select code, object, coalesce(fix, '-- deploy') as fix from ${view} where code = '${code}'`;
    return (await client.query<Finding>({ name: code, text })).rows;
  };
  const deployed = await readObjects(client);
  await client.query('begin');
  try {
    await client.query(mutant);
    const before = await readObjects(client);
    const found = await named();
    const unmended = await mend(client, found, named);
    const after = await readObjects(client);
    const dropped = [...deployed].filter(([id]) => before.has(id) && !after.has(id)).map(([, name]) => name);
    return { code, mutant, killed: found.length > 0, unmended, dropped };
  } finally {
    await client.query('rollback');
  }
}

/**
 * Runs the SQL of the findings until nothing changes: one may depend on another.
 * SQL that is only a comment describes a manual step.
 */
async function mend(
  client: pg.Client,
  found: Finding[],
  named: () => Promise<Finding[]>,
): Promise<string | undefined> {
  const failures: string[] = [];
  const isSql = ({ fix }: Finding) => !fix.startsWith('--');
  let left = found.filter(isSql);
  for (let round = 0; round < 3 && left.length > 0; round += 1) {
    const fixes = [...new Set(left.map(({ fix }) => fix))];
    for (const fix of fixes) {
      await client.query('savepoint fix');
      await client.query(fix).catch(async (error) => {
        failures.push(`${fix}: ${error.message}`);
        await client.query('rollback to fix');
      });
    }
    left = (await named()).filter(isSql);
  }
  return left.length === 0
    ? undefined
    : failures.concat(left.map(({ object, fix }) => `${object}: ${fix}`)).join('\n');
}
