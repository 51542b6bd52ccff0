/**
 * The cost of row-level security: a page of tasks with all policies, and the same page in a copy of the database without
 * row-level security, where the statements contain the club. `make bench` does not run it; README.md has the command.
 */

import { type Environment, startEnvironment } from './environment.js';
import type { Measurement } from './measurement.js';
import { findPgbench, runPgbench } from './pgbench.js';
import { type Benchmark, lineOf, ratioOf, runRounds } from './rounds.js';
import { CLUB_EXPRESSION, serviceScripts } from './statements.js';

/** Replaces a text that must be there. */
function replace(text: string, from: string, to: string): string {
  if (!text.includes(from)) {
    throw new Error(`There is no “${from}” in: ${text}`);
  }
  return text.replace(from, to);
}

/** Copies the database of many clubs, and removes row-level security from the copy. */
async function makeCopy(environment: Environment): Promise<void> {
  await environment.queryAsAdmin('one', 'create database copy template many strategy file_copy');
  const tables = await environment.queryAsAdmin<{ name: string }>(
    'copy',
    'select oid::regclass::text as name from pg_class where relrowsecurity',
  );
  for (const { name } of tables) {
    await environment.queryAsAdmin('copy', `alter table ${name} disable row level security`);
  }
  const [enter] = await environment.queryAsAdmin<{ text: string }>(
    'copy',
    `select pg_get_functiondef(oid) as text from pg_proc where oid::regproc::text = 'app.enter'`,
  );
  const condition = 'where member.external_user_id = user_id';
  await environment.queryAsAdmin(
    'copy',
    replace(enter?.text ?? '', condition, `${condition} and member.tenant_id = tenant_id`),
  );
  await environment.queryAsAdmin('copy', 'vacuum analyze');
  await environment.queryAsAdmin('copy', 'checkpoint');
}

const pgbench = findPgbench();
if (pgbench === undefined) {
  throw new Error('pgbench is not installed.');
}
const environment = await startEnvironment(console.log);
try {
  await makeCopy(environment);
  const {
    'tasks-page': { pgbench: page },
  } = serviceScripts();
  const named = replace(
    page,
    'from app.tasks as task order by',
    `from app.tasks as task where task.tenant_id = ${CLUB_EXPRESSION} order by`,
  );
  const benchmark = (name: string, database: 'many' | 'copy', script: string): Benchmark => ({
    name,
    run: (durationMs) =>
      runPgbench(pgbench, environment, {
        script,
        requests: 1,
        database,
        length: { seconds: Math.max(1, Math.round(durationMs / 1000)) },
      }),
  });
  const rounds = await runRounds(
    [benchmark('policies', 'many', page), benchmark('conditions', 'copy', named)],
    (run) => run(),
  );
  const figures: [string, (measurement: Measurement) => number][] = [
    ['pages-per-second', ({ perSecond }) => perSecond],
    ['processor-time', ({ postgresUs }) => postgresUs],
  ];
  for (const [against, figure] of figures) {
    const each = (name: string) =>
      (rounds.get(name) ?? []).map((measurement) => figure(measurement).toFixed(0)).join(' ');
    console.log(`${against}: with policies ${each('policies')}; without ${each('conditions')}`);
    console.log(lineOf(ratioOf(rounds, ['policies', 'conditions'], ['row-security', against], figure)));
  }
} finally {
  await environment.close();
}
