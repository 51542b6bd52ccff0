import type { Database } from '../src/database/database.js';
import { type Entry, type ReadOptions, readStatement } from '../src/database/read.js';
import { type Query, type Statement, sql } from '../src/database/sql.js';
import {
  type Caller,
  readInTenant,
  type TenantTransaction,
  writeInTenant,
} from '../src/database/tenant-context.js';
import { cancelSignUp, listShifts, shiftOrders, signUp } from '../src/shifts/queries.js';
import { findTask, listTasks, taskOrders } from '../src/tasks/queries.js';
import { rowId } from './filling.js';
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

const caller: Caller = {
  tenantId: CLUB,
  role: 'Member',
  subject: SUBJECT,
  displayName: null,
  email: null,
  issuedAt: null,
  testMemberId: null,
};

const ENTERED = { enteredTenantId: CLUB, clubExists: true, memberId: TASK, memberIsCurrent: true };

/** A read of the service as a pgbench script: its one statement. */
async function read(query: Query<unknown>): Promise<string> {
  let text = '';
  const database = {
    read: async (entry: Entry<object>, asked: Query<unknown>, options: ReadOptions) => {
      text = textOf(readStatement('1', entry as Entry<never>, asked, options));
      return { context: ENTERED, rows: [] };
    },
  };
  await readInTenant(database as unknown as Database, caller, 'read', 'shared', query);
  return text;
}

/** A write of the service as a pgbench script: the entry and its statements between BEGIN and COMMIT. */
async function write(work: (tx: TenantTransaction) => Promise<unknown>): Promise<string[]> {
  const lines = ['begin isolation level read committed, read write;'];
  const database = {
    transaction: async (
      _mode: string,
      _name: string,
      { columns }: Entry<object>,
      accept: (context: object) => { memberId: string },
      run: typeof work,
    ) => {
      lines.push(textOf(sql`select ${columns}`));
      const entered = Promise.resolve(accept(ENTERED));
      const query = async (statement: Statement) => {
        lines.push(textOf(statement));
        return [];
      };
      await run({ query, entered } as TenantTransaction);
    },
  };
  await writeInTenant(database as unknown as Database, caller, 'write', work);
  return [...lines, 'commit;'];
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
 * outdated. A read is one statement; those of a write are sent each after the result of the one before, or together.
 */
export async function serviceScripts() {
  const page = { order: taskOrders.createdAt, descending: true, limit: 20, after: undefined, scope: '' };
  const window = { order: shiftOrders.startsAt, descending: false, limit: 50, after: undefined, scope: '' };
  const signup = await write((tx) => signUp(tx, SHIFT));
  const cancellation = await write((tx) => cancelSignUp(tx, SHIFT));
  const flush = (lines: string[]) => ['\\startpipeline', ...lines, '\\endpipeline'];
  const script = (...lines: string[]) => [...VARIABLES, ...lines, ''].join('\n');
  return {
    'tasks-page': { pgbench: script(await read(listTasks({}, page))) },
    'task-one': { pgbench: script(await read(findTask(TASK))) },
    'shifts-window': { pgbench: script(await read(listShifts({ from: FROM, to: TO }, window))) },
    'signup-cancel': {
      'pgbench-separate': script(...signup, ...cancellation),
      'pgbench-pipelined': script(...flush(signup), ...flush(cancellation)),
    },
  };
}
