import t, { type Test } from 'tap';
import { findCurrentClub, listMyClubs } from '../../src/clubs/queries.js';
import { Connection, type Result } from '../../src/database/connection.js';
import { type Query, type Statement, sql } from '../../src/database/sql.js';
import type { Caller } from '../../src/database/tenant-context.js';
import type { Order, Page } from '../../src/http/pagination.js';
import { findMember, findMyself, listMembers, memberOrders } from '../../src/members/queries.js';
import { findShift, listShifts, shiftOrders } from '../../src/shifts/queries.js';
import { findTask, listTasks, taskOrders } from '../../src/tasks/queries.js';
import { callerOf } from '../setup/caller.js';
import { makeDatabase } from '../setup/database.js';
import { prepared, readStatementOf } from '../setup/read-statement.js';

// A read is safe only in one form of plan: the context is entered first, and the query runs inside of the CASE that the
// context decides. A join instead would let PostgreSQL scan the tables before anybody has entered.
const db = await makeDatabase(t);
const club = await db.makeClub('north');
const anna = callerOf(club);
const ID = '01a21077-73e0-7e4c-b849-bbfc70a69f7b';
const INSTANT = '2026-05-01T18:00:00.000000Z';

interface Plan {
  'Node Type': string;
  'Parent Relationship'?: string;
  'Subplan Name'?: string;
  'Relation Name'?: string;
  Alias?: string;
  'CTE Name'?: string;
  'One-Time Filter'?: string;
  Output?: string[];
  Plans?: Plan[];
}

// With the settings of the service's login, of which one is to plan for any values.
const connection = new Connection({ url: db.url, prepare: true });
t.teardown(() => connection.close());
await connection.ready;

/** SQL without parameters, which PREPARE and EXECUTE do not take. */
const plain = (text: string): Promise<Result> =>
  connection.query({ strings: Object.assign([text], { raw: [text] }), values: [] });

/** The plan that a session keeps for the statement, whatever the values. */
async function planOf(statement: Statement): Promise<Plan> {
  const { text, literals } = prepared(statement);
  await plain(`prepare statement as ${text}`);
  const [row] = (await plain(`explain (verbose, format json) execute statement ${literals}`)) as unknown as [
    { 'QUERY PLAN': [{ Plan: Plan }] },
  ];
  await plain('deallocate statement');
  return row['QUERY PLAN'][0].Plan;
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const isBelow = ({ 'Parent Relationship': relationship }: Plan) =>
  relationship === 'SubPlan' || relationship === 'InitPlan';
/** What is evaluated in any case: everything that stands in no subplan. */
const topOf = (plan: Plan): Plan[] => [
  plan,
  ...(plan.Plans ?? []).filter((child) => !isBelow(child)).flatMap(topOf),
];

/** Why the plan is not safe; nothing when it is. */
function faultsOf(plan: Plan): string[] {
  const nodes = nodesOf(plan);
  const top = topOf(plan);
  const faults: string[] = [];
  // PostgreSQL leaves the join, which is never true, as a Result with a one-time filter, or no more than the context.
  const scans = top.filter(
    ({ 'Node Type': type, 'One-Time Filter': filter }) => type.includes('Scan') && filter === undefined,
  );
  if (!scans.some(({ 'CTE Name': cte }) => cte === 'tenant_context')) {
    faults.push('tenant_context is not scanned');
  }
  for (const scan of scans.filter(({ 'CTE Name': cte }) => cte !== 'tenant_context')) {
    faults.push(`${scan['Node Type']} of ${scan['Relation Name'] ?? scan.Alias} outside of the CASE`);
  }
  const contexts = (plan.Plans ?? []).filter(({ 'Subplan Name': name }) => name === 'CTE tenant_context');
  const inPlaces = nodes.filter(({ 'Subplan Name': name }) => name === 'CTE tenant_context');
  if (inPlaces.length !== 1 || contexts.length > 1) {
    faults.push('tenant_context is no CTE of its own');
  }
  for (const { 'Node Type': type } of nodes.filter(({ 'Node Type': type }) =>
    /Gather|LockRows|ModifyTable/.test(type),
  )) {
    faults.push(type);
  }
  // Before PostgreSQL 17 an InitPlan stands there by the parameter that it returns.
  const output = (plan.Output ?? []).join(' ');
  const [, subplan, parameter] = /CASE WHEN .* THEN \(?(?:((?:Sub|Init)Plan)|(\$\d+))/s.exec(output) ?? [];
  const isReturned = nodes.some(({ 'Subplan Name': name }) => name?.endsWith(`(returns ${parameter})`));
  if (subplan === undefined && !(parameter !== undefined && isReturned)) {
    faults.push(`no CASE around a subplan: ${output}`);
  }
  return faults;
}

/** Every subset of these. */
const subsetsOf = (filters: Record<string, unknown>): Record<string, unknown>[] => {
  let all: Record<string, unknown>[] = [{}];
  for (const [name, value] of Object.entries(filters)) {
    all = all.flatMap((each) => [each, { ...each, [name]: value }]);
  }
  return all;
};

const pagesOf = (orders: Record<string, Order>): [name: string, page: Page][] =>
  Object.entries(orders).flatMap(([sort, order]) =>
    [false, true].flatMap((descending) =>
      [undefined, { key: order.kind === 'instant' ? INSTANT : 'Text', id: ID }].map(
        (after): [string, Page] => [
          `${descending ? '-' : ''}${sort}${after ? ' after a cursor' : ''}`,
          { order, descending, limit: 20, after, scope: '' },
        ],
      ),
    ),
  );

async function hold(
  t: Test,
  queries: [name: string, query: Query<unknown>][],
  asker: Caller | string[] = anna,
): Promise<void> {
  const wrong: unknown[] = [];
  for (const [name, query] of queries) {
    const faults = faultsOf(await planOf(await readStatementOf(asker, query)));
    if (faults.length > 0) {
      wrong.push({ name, faults });
    }
  }
  t.comment(`${queries.length} statements`);
  t.same(wrong, []);
}

const inEveryOrder = (
  list: (filters: never, page: Page) => Query<unknown>,
  filters: Record<string, unknown>[],
  orders: Record<string, Order>,
): [string, Query<unknown>][] =>
  filters.flatMap((each) =>
    pagesOf(orders).map(([name, page]): [string, Query<unknown>] => [
      `${JSON.stringify(each)} ${name}`,
      list(each as never, page),
    ]),
  );

t.test('every list of tasks is evaluated only where the context lets it', async (t) => {
  const filters = ['me', 'none', ID].flatMap((assigneeId) =>
    subsetsOf({ state: ['Open', 'Done'], assigneeId, dueBefore: INSTANT, dueAfter: INSTANT, q: 'x' }),
  );
  const unique = [...new Map(filters.map((each) => [JSON.stringify(each), each])).values()];
  await hold(t, inEveryOrder(listTasks as never, unique, taskOrders));
});

t.test('every list of shifts is evaluated only where the context lets it', async (t) => {
  const filters = subsetsOf({ from: INSTANT, to: INSTANT, signedUp: 'me', hasFreeSlots: true, q: 'x' });
  await hold(t, inEveryOrder(listShifts as never, filters, shiftOrders));
});

t.test('every list of members is evaluated only where the context lets it', async (t) => {
  const filters = subsetsOf({ q: 'x', role: 'Member' });
  await hold(t, inEveryOrder(listMembers as never, filters, memberOrders));
});

t.test('every detail is evaluated only where the context lets it', async (t) => {
  await hold(t, [
    ['task', findTask(ID)],
    ['shift', findShift(ID)],
    ['member', findMember(ID)],
    ['me', findMyself()],
    ['club', findCurrentClub()],
  ]);
  await hold(t, [['my clubs', listMyClubs()]], [club]);
});

t.test('the form is one that a join, a lock or a read beside the context does not have', async (t) => {
  const context = sql`with tenant_context as materialized (
    select entry.* from app.enter(${club}, 'anna', 'Admin', null, null, null) as entry)`;
  const faultsOfPlan = async (statement: Statement) => faultsOf(await planOf(statement));
  t.same(
    await faultsOfPlan(sql`${context} select case when club_exists then (select json_agg(task) from app.tasks as task) end
      from tenant_context`),
    [],
    'the form itself',
  );
  for (const [name, statement] of Object.entries({
    'a join': sql`${context} select json_agg(task) from tenant_context join app.tasks as task on club_exists`,
    'no CASE': sql`${context} select (select json_agg(task) from app.tasks as task) from tenant_context`,
    'no context': sql`select case when ${club}::uuid is not null then (select json_agg(task) from app.tasks as task) end`,
  })) {
    t.ok((await faultsOfPlan(statement)).length > 0, name);
  }
});
