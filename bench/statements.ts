import { type Caller, type ClubTransaction, inClub } from '../src/database/context.js';
import type { Database } from '../src/database/database.js';
import type { Entry } from '../src/database/entry.js';
import type { Statement } from '../src/database/sql.js';
import { cancelSignUp, listShifts, shiftOrders, signUp } from '../src/shifts/queries.js';
import { findTask, listTasks, taskOrders } from '../src/tasks/queries.js';
import { rowId } from './filling.js';
import { plan } from './plan.js';

/** What stands in a script of pgbench in place of a value: words that no value of the service holds. */
const CLUB = '00000000-0000-4000-8000-cccccccccccc';
const SUBJECT = 'the subject';
const TASK = '00000000-0000-4000-8000-aaaaaaaaaaaa';
const SHIFT = '00000000-0000-4000-8000-bbbbbbbbbbbb';
const FROM = '1970-01-01T00:00:00Z';
const TO = '1970-01-02T00:00:00Z';

const expressions: Record<string, string> = {
  [CLUB]: `('00000000-0000-4000-8000-' || lpad(:club::text, 12, '0'))::uuid`,
  [SUBJECT]: `('caller-' || :caller)`,
  [TASK]: rowId('task', ':task', ':club'),
  [SHIFT]: rowId('shift', ':shift', ':club'),
  [FROM]: 'now()',
  [TO]: `now() + interval '30 days'`,
};

const caller: Caller = {
  identity: { subject: SUBJECT, displayName: null, email: null, issuedAt: null, roles: new Map() },
  tenantId: CLUB,
  role: 'Member',
  testMemberId: null,
  memberId: null,
};

const BEGIN = {
  'read once': 'begin isolation level repeatable read, read only',
  'read write': 'begin isolation level read committed, read write',
};

/**
 * Work of the service as pgbench can send it: the entry and the service's own statements between BEGIN and COMMIT,
 * which a reader in one flush does without, as the service does.
 */
async function script(
  mode: keyof typeof BEGIN,
  work: (tx: ClubTransaction) => Promise<unknown>,
  isPipelined: boolean,
): Promise<string[]> {
  const lines: string[] = [];
  const ask = async <Row>(statement: Statement): Promise<Row[]> => {
    lines.push(textOf(statement));
    return [];
  };
  const database = {
    transaction: async (_mode: string, { statement, accept }: Entry<object>, run: typeof work) => {
      await ask(statement);
      accept({ clubExists: true, memberId: TASK, memberIsCurrent: true });
      await run({ query: ask, queryAll: ask, memberId: TASK } as unknown as ClubTransaction);
    },
  } as unknown as Database;
  await inClub(database, { ...caller }, mode, work);
  const all = mode === 'read once' && isPipelined ? lines : [BEGIN[mode], ...lines, 'commit'];
  const each = all.map((line) => `${line.replaceAll(/\s+/g, ' ').trim()};`);
  return isPipelined ? ['\\startpipeline', ...each, '\\endpipeline'] : each;
}

/** A statement with its values in it: those that vary by a variable of pgbench. */
function textOf({ strings, values }: Statement): string {
  return strings.reduce((text, string, index) => {
    const value = values[index - 1] ?? null;
    const literal = typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
    return `${text}${expressions[String(value)] ?? literal}${string}`;
  });
}

/** The variables that the statements are made with. */
const VARIABLES = [
  `\\set club random(1, ${plan.clubs})`,
  '\\set caller random(1, 20)',
  `\\set task random(1, ${plan.tasks / plan.clubs})`,
  `\\set shift random(${(plan.shifts / plan.clubs) * 0.6}, ${plan.shifts / plan.clubs})`,
];

/**
 * Scripts of the service's own statements, by workload: taken from its queries, so they are never those of yesterday.
 *
 * @param isPipelined whether the statements of a transaction leave in one flush, or each waits for the one before
 */
export async function serviceScripts(isPipelined: boolean): Promise<Record<string, string>> {
  const page = { order: taskOrders.createdAt, descending: true, limit: 20, after: undefined, scope: '' };
  const window = { order: shiftOrders.startsAt, descending: false, limit: 50, after: undefined, scope: '' };
  const transactions = {
    'tasks-page': [await script('read once', (tx) => listTasks(tx, {}, page), isPipelined)],
    'task-one': [await script('read once', (tx) => findTask(tx, TASK), isPipelined)],
    'shifts-window': [
      await script('read once', (tx) => listShifts(tx, { from: FROM, to: TO }, window), isPipelined),
    ],
    'signup-cancel': [
      await script('read write', (tx) => signUp(tx, SHIFT), isPipelined),
      await script('read write', (tx) => cancelSignUp(tx, SHIFT), isPipelined),
    ],
  };
  return Object.fromEntries(
    Object.entries(transactions).map(([workload, all]) => [
      workload,
      [...VARIABLES, ...all.flat(), ''].join('\n'),
    ]),
  );
}
