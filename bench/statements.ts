import { type Query, type Statement, sql } from '../src/database/sql.js';
import { compose, type StatementMode } from '../src/database/statement.js';
import { memberContext } from '../src/database/tenant-context.js';
import { listShifts, shiftOrders } from '../src/shifts/queries.js';
import { cancelSignUp, signUp } from '../src/signups/queries.js';
import { findTask, listTasks, taskOrders } from '../src/tasks/queries.js';
import { callerWith } from '../tools/people.js';
import { rowId } from './data.js';
import { plan } from './plan.js';

/** Placeholders for values in a pgbench script; no value of the service contains them. */
const CLUB = '00000000-0000-4000-8000-cccccccccccc';
const SUBJECT = 'the subject';
const TASK = '00000000-0000-4000-8000-aaaaaaaaaaaa';
const SHIFT = '00000000-0000-4000-8000-bbbbbbbbbbbb';
const FROM = '1970-01-01T00:00:00Z';
const TO = '1970-01-02T00:00:00Z';

/** The club of a transaction, in a pgbench script. */
export const CLUB_EXPRESSION = `('00000000-0000-4000-8000-' || lpad(:club::text, 12, '0'))::uuid`;

const expressions: Record<string, string> = {
  [CLUB]: CLUB_EXPRESSION,
  [SUBJECT]: `('caller-' || :caller)`,
  [TASK]: rowId('task', ':task', ':club'),
  [SHIFT]: rowId('shift', ':shift', ':club'),
  [FROM]: 'now()',
  [TO]: `now() + interval '30 days'`,
};

const context = memberContext(callerWith({ sub: SUBJECT }, CLUB, 'Member'), false);

/** Enters the club as a member, as the first statement of a transaction in a pgbench script. */
export const enterScript = textOf(sql`select ${context.sql}`);

/** A read or a call of the service as a pgbench script: its one statement. */
function scriptOf(mode: StatementMode, query: Query<unknown>): string {
  return textOf(compose(mode, mode, context, query).statement);
}

/** A statement with its values inlined; values that vary become variables of pgbench. */
function textOf({ strings, values }: Statement): string {
  const text = strings.reduce((text, string, index) => {
    const value = values[index - 1] ?? null;
    const literal = typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
    return `${text}${expressions[String(value)] ?? literal}${string}`;
  });
  return `${text.replaceAll(/\s+/g, ' ').trim()};`;
}

/** The pgbench variables that the statements use. */
const VARIABLES = [
  `\\set club random(1, ${plan.clubs})`,
  '\\set caller random(1, 20)',
  `\\set task random(1, ${plan.tasks / plan.clubs})`,
  `\\set shift random(${(plan.shifts / plan.clubs) * 0.6}, ${plan.shifts / plan.clubs})`,
];

/**
 * Scripts of the service's own statements, by workload and limit. They are generated from its queries, so they are never
 * outdated. A read or a call is one statement.
 */
export function serviceScripts() {
  const page = { order: taskOrders.createdAt, descending: true, limit: 20, after: undefined, scope: '' };
  const window = { order: shiftOrders.startsAt, descending: false, limit: 50, after: undefined, scope: '' };
  const script = (...lines: string[]) => [...VARIABLES, ...lines, ''].join('\n');
  return {
    'tasks-page': { pgbench: script(scriptOf('read', listTasks({}, page))) },
    'task-one': { pgbench: script(scriptOf('read', findTask(TASK))) },
    'shifts-window': { pgbench: script(scriptOf('read', listShifts({ from: FROM, to: TO }, window))) },
    'signup-cancel': {
      pgbench: script(scriptOf('call', signUp(SHIFT)), scriptOf('call', cancelSignUp(SHIFT))),
    },
  };
}
