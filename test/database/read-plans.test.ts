import t from 'tap';
import { Connection, type Result } from '../../src/database/connection.js';
import { type Statement, sql } from '../../src/database/sql.js';
import { compose } from '../../src/database/statement.js';
import { memberContext } from '../../src/database/tenant-context.js';
import { growTables } from '../setup/catalog-rows.js';
import { addRow, fit, makeRows, makers } from '../setup/endpoints.js';
import { prepared } from '../setup/read-statement.js';
import { startService } from '../setup/service.js';
import { until } from '../setup/wait.js';
import { callerOf } from '../setup/work.js';

// A read is safe only with one form of plan: the context is entered first, and the query runs inside the CASE that the
// context decides. With a join PostgreSQL could scan the tables before the context is entered.
const service = await startService(t);
const { db } = service;
const club = await db.makeClub('north');
const ID = '01a21077-73e0-7e4c-b849-bbfc70a69f7b';
/** Moments before and after those of all rows. */
const MOMENTS = ['1970-01-01T00:00:00Z', '2199-12-31T00:00:00Z'];
/** The parameters of a list that are no filters. */
const PAGING = ['sort', 'limit', 'cursor'];
/** Twice the default limit of a page. */
const TWO_PAGES = 200;
/** Tables without a club, which have a few rows each. */
const REFERENCE = ['task_states', 'task_transitions'];

interface Plan {
  'Node Type': string;
  'Parent Relationship'?: string;
  'Subplan Name'?: string;
  'Relation Name'?: string;
  Alias?: string;
  'CTE Name'?: string;
  'One-Time Filter'?: string;
  Output?: string[];
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

// With the settings of the service's login, such as generic plans.
const connection = new Connection({ url: db.url, prepare: true });
t.teardown(() => connection.close());
await connection.ready;

/** SQL without parameters, which PREPARE and EXECUTE do not accept. */
const plain = (text: string): Promise<Result> => connection.query({ strings: [text], values: [] });

/** The generic plan of the statement; with `analyze` it is run. */
async function planOf(statement: Statement, options = 'verbose'): Promise<Plan> {
  const { text, literals } = prepared(statement);
  await plain(`prepare statement as ${text}`);
  const [row] = (await plain(
    `explain (${options}, format json) execute statement ${literals}`,
  )) as unknown as [{ 'QUERY PLAN': [{ Plan: Plan }] }];
  await plain('deallocate statement');
  return row['QUERY PLAN'][0].Plan;
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const isBelow = ({ 'Parent Relationship': relationship }: Plan) =>
  relationship === 'SubPlan' || relationship === 'InitPlan';
/** The nodes that are always evaluated: all outside of subplans. */
const topOf = (plan: Plan): Plan[] => [
  plan,
  ...(plan.Plans ?? []).filter((child) => !isBelow(child)).flatMap(topOf),
];

/** The reasons why the plan is not safe; none when it is. */
function faultsOf(plan: Plan): string[] {
  const nodes = nodesOf(plan);
  const top = topOf(plan);
  const faults: string[] = [];
  // PostgreSQL turns the join, which is never true, into a Result with a one-time filter, or into the context only.
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
  // Before PostgreSQL 17 an InitPlan is shown by the parameter that it returns.
  const output = (plan.Output ?? []).join(' ');
  const [, subplan, parameter] = /CASE WHEN .* THEN \(?(?:((?:Sub|Init)Plan)|(\$\d+))/s.exec(output) ?? [];
  const isReturned = nodes.some(({ 'Subplan Name': name }) => name?.endsWith(`(returns ${parameter})`));
  if (subplan === undefined && !(parameter !== undefined && isReturned)) {
    faults.push(`no CASE around a subplan: ${output}`);
  }
  return faults;
}

interface Parameter {
  name: string;
  in: string;
  schema: {
    format?: string;
    pattern?: string;
    enum?: string[];
    items?: { enum: string[] };
    examples?: unknown[];
  };
}

/** The values of a filter: no row has them. A statement depends on whether there is one word or two, and on `me` and `none`. */
async function valuesOf(path: string, { name, schema }: Parameter): Promise<string[]> {
  const { format, pattern, items, enum: words = items?.enum } = schema;
  const known = format === 'date-time' ? MOMENTS : words;
  if (known !== undefined) {
    const lists = await Promise.all(known.map((value) => reader.get(`${path}?${name}=${value}`)));
    const unused = known.filter((_, index) => lists[index]?.body.length === 0);
    const [one = known[0] as string, two] = unused;
    return items === undefined || two === undefined ? [one] : [one, `${one},${two}`];
  }
  if (pattern?.includes('none')) {
    return ['me', 'none', ID];
  }
  return [format === 'uuid' ? ID : name === 'q' ? 'no such text' : String(schema.examples?.[0])];
}

/** Every query of an operation: each subset of its filters, with each of their values, in each order. */
async function queriesOf(path: string, parameters: Parameter[]): Promise<string[]> {
  const query = parameters.filter((parameter) => parameter.in === 'query');
  let subsets: [name: string, value: string][][] = [[]];
  for (const filter of query.filter(({ name }) => !PAGING.includes(name))) {
    const values = await valuesOf(path, filter);
    subsets = subsets.flatMap((subset) => {
      // The second moment of a window is the first one, because it may not be before it.
      const moment = subset.find(([, value]) => MOMENTS.includes(value))?.[1];
      const options = moment !== undefined && filter.schema.format === 'date-time' ? [moment] : values;
      return [subset, ...options.map((value) => [...subset, [filter.name, value]] as typeof subset)];
    });
  }
  const sorts = query.find(({ name }) => name === 'sort')?.schema.enum ?? [undefined];
  return subsets.flatMap((subset) =>
    sorts.map((sort) => {
      const parameters = new URLSearchParams(subset);
      if (sort !== undefined) {
        parameters.set('sort', sort);
        parameters.set('limit', '1');
      }
      return parameters.size === 0 ? '' : `?${parameters}`;
    }),
  );
}

interface Read {
  url: string;
  statement: Statement;
  isShared: boolean;
}

/** Sends every read of the document, and the page after each page of a list; records each statement once. */
async function everyRead(): Promise<Read[]> {
  const reads = new Map<string, Read>();
  const paths = Object.entries(document.paths).flatMap(([path, { get }]) =>
    path.startsWith('/api/') && get !== undefined
      ? { path: path.replaceAll(/\{\w+\}/g, ID), parameters: get.parameters ?? [] }
      : [],
  );
  const queries = new Map<string, string[]>();
  for (const { path, parameters } of paths) {
    queries.set(path, await queriesOf(path, parameters));
  }
  const { database } = service;
  const send = database.read.bind(database);
  let url = '';
  /** The rows of each list in each order. Their last member is the key of the order, if no field has it. */
  const pages = new Map<string, unknown[]>();
  database.read = async (options) => {
    const { operation, context, query } = options;
    const { statement } = compose('read', operation, context, query);
    reads.set(prepared(statement).text, { url, statement, isShared: query.isBounded === true });
    const result = await send(options);
    const { pathname, searchParams } = new URL(url, 'http://service');
    const sort = searchParams.get('sort');
    if (sort === null) {
      return result;
    }
    // Each page has a next one, so that the statement with a cursor is recorded too. The first query of an order has no filter.
    const page = pages.get(`${pathname} ${sort}`) ?? result.rows;
    pages.set(`${pathname} ${sort}`, page);
    return { ...result, rows: page as typeof result.rows };
  };
  // On a busy machine a response can be late; the request is repeated, as Retry-After says.
  const read = (path: string) =>
    until(
      () => reader.get(path),
      ({ status }) => status !== 503,
    );
  for (const [path, each] of queries) {
    for (const query of each) {
      url = `${path}${query}`;
      const { status, headers, body } = await read(url);
      const next = /^<([^>]+)>/.exec(String(headers.link ?? ''))?.[1];
      // An `after` goes with one order only.
      const isRefused = status === 400 && url.includes('after=') && url.includes('sort=-sequence');
      if (status !== 200 && status !== 404 && !isRefused) {
        throw new Error(`${url}: ${JSON.stringify(body)}`);
      }
      if (next !== undefined) {
        const { status, body } = await read(next);
        if (status !== 200) {
          throw new Error(`${next}: ${JSON.stringify(body)}`);
        }
      }
    }
  }
  database.read = send;
  return [...reads.values()];
}

const admin = service.as('anna', 'Admin', club);
/** No row but the member is theirs. */
const reader = service.as('zoe', 'Admin', club);
const { body: document } = (await service.send('GET', '/openapi.json')) as {
  body: { paths: Record<string, { get?: { parameters?: Parameter[] } }> };
};
const ids = await makeRows(service, club);
for (const { path, body } of [...makers, ...makers]) {
  await addRow(admin, path, fit(body, ids) as Record<string, unknown>);
}
await service.as('ben', 'Member', club).memberId();
await reader.memberId();
const reads = await everyRead();

t.test('every read of the document is evaluated only if the context allows it', async (t) => {
  const wrong: unknown[] = [];
  for (const { url, statement } of reads) {
    const faults = faultsOf(await planOf(statement));
    wrong.push(...(faults.length > 0 ? [{ url, faults }] : []));
  }
  t.comment(`${reads.length} statements`);
  t.same(wrong, []);
  const unread = makers
    .map(({ path }) => path)
    .filter((path) => !reads.some(({ url }) => url.startsWith(`${path}?`)));
  t.same(unread, [], 'each list with a POST is among them: give it a page, as ListQuery and readPage do');
});

t.test('a shared read gets its rows, in order, from an index', async (t) => {
  for (const way of ['seqscan', 'sort', 'bitmapscan', 'hashjoin', 'mergejoin']) {
    await plain(`set enable_${way} = off`);
  }
  const wrong = new Set<string>();
  for (const { url, statement } of reads.filter(({ isShared }) => isShared)) {
    const slow = nodesOf(await planOf(statement)).filter(
      ({ 'Node Type': type, 'Relation Name': relation = '' }) =>
        /Sort/.test(type) || (type === 'Seq Scan' && !REFERENCE.includes(relation)),
    );
    if (slow.length > 0) {
      wrong.add(
        `${url.replace('&limit=1', '')}: make an index of this order and filter, or call \`bounded\` without this filter only`,
      );
    }
  }
  t.same([...wrong].slice(0, 5), []);
  await plain('reset all');
});

t.test('a shared read whose filters no row matches reads less than two pages of 20,000 rows', async (t) => {
  await growTables(db, club, 20_000);
  const filtered = reads.filter(({ url, isShared }) => {
    const [, query] = url.split('?');
    return isShared && [...new URLSearchParams(query).keys()].some((name) => !PAGING.includes(name));
  });
  const wrong = new Set<string>();
  for (const { url, statement } of filtered) {
    const scans = nodesOf(await planOf(statement, 'analyze')).filter((node) => 'Relation Name' in node);
    const rows = scans.reduce((sum, node) => {
      const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
      return sum + (node['Actual Loops'] ?? 0) * ((node['Actual Rows'] ?? 0) + removed);
    }, 0);
    const isEvaluated = scans.some((node) => node['Actual Loops'] !== 0);
    if (rows >= TWO_PAGES || !isEvaluated) {
      wrong.add(
        `${url} reads ${isEvaluated ? rows : 'no'} rows: make an index that begins with tenant_id and the column of the filter ` +
          'and ends with the order, or do not declare the query as bounded with this filter',
      );
    }
  }
  t.comment(`${filtered.length} statements`);
  t.same([...wrong].slice(0, 5), []);
});

t.test('a join, a lock or a read outside of the context does not have the safe form', async (t) => {
  const context = sql`with tenant_context as materialized (
    select ${memberContext(callerOf(club), false).sql})`;
  const faultsOfPlan = async (statement: Statement) => faultsOf(await planOf(statement));
  t.same(
    await faultsOfPlan(sql`${context} select case when club_exists then (select json_agg(task) from app.tasks as task) end
      from tenant_context`),
    [],
    'the safe form',
  );
  for (const [name, statement] of Object.entries({
    'a join': sql`${context} select json_agg(task) from tenant_context join app.tasks as task on club_exists`,
    'no CASE': sql`${context} select (select json_agg(task) from app.tasks as task) from tenant_context`,
    'no context': sql`select case when ${club}::uuid is not null then (select json_agg(task) from app.tasks as task) end`,
  })) {
    t.ok((await faultsOfPlan(statement)).length > 0, name);
  }
});
