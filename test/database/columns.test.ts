import postgres from 'postgres';
import t from 'tap';
import type { Statement } from '../../src/database/sql.js';
import { endpointsFor, makeRows, pathOf } from '../setup/endpoints.js';
import { startService } from '../setup/service.js';

// Rows reach the client as PostgreSQL wrote them. This compares the columns of every statement with the documented response.

interface Schema {
  $ref?: string;
  type?: string | string[];
  items?: Schema;
  properties?: Record<string, Schema>;
  anyOf?: Schema[];
}

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

/** What a column is: its kind, and whether it can be null; undefined where PostgreSQL does not say. */
interface Column {
  kind: string | undefined;
  isNullable: boolean | undefined;
}

const service = await startService(t);
const { db, database } = service;
const club = await db.makeClub();
const admin = service.as('anna', 'Admin', club);
const sql = postgres(db.adminUrl, { max: 1 });
t.teardown(() => sql.end());

const document = (await service.send('GET', '/openapi.json')).body;
const resolve = (schema: Schema): Schema =>
  schema.$ref === undefined
    ? schema
    : document.components.schemas[schema.$ref.replace('#/components/schemas/', '')];

/** The statements of each operation whose rows are sent. */
const statements = new Map<string, Statement>();
const { read, call, transaction } = database;
database.read = (options) => {
  statements.set(options.operation, options.query);
  return read.call(database, options) as never;
};
database.call = (options) => {
  statements.set(options.operation, options.query);
  return call.call(database, options) as never;
};
database.transaction = (options) =>
  transaction.call(database, {
    ...options,
    work: (tx) => {
      const send = tx.json.bind(tx);
      tx.json = (statement) => {
        statements.set(options.operation, statement);
        return send(statement);
      };
      return options.work(tx as never);
    },
  }) as never;

/** The kind of a category of types, as JSON has it. */
const KINDS: Record<string, string> = {
  B: 'boolean',
  D: 'string',
  E: 'string',
  N: 'number',
  S: 'string',
  A: 'array',
};

/** The columns of a statement, or of the query whose rows it turns into JSON. PostgreSQL describes it and does not run it. */
async function columnsOf({ strings }: Statement): Promise<Map<string, Column>> {
  const text = strings
    .reduce((all, piece, place) => `${all}$${place}${piece}`)
    .replace('row_to_json(result)::text as json', 'result.*');
  const { columns } = await sql.unsafe(text).describe();
  const described = new Map<string, Column>();
  for (const { name, type, table, number } of columns as unknown as Record<string, string>[]) {
    const [row] = await sql`
      select typcategory as category, typname as type,
        (select attnotnull from pg_attribute where attrelid = ${table ?? 0} and attnum = ${number ?? 0}) as "isRequired"
      from pg_type where oid = ${type ?? 0}`;
    described.set(name as string, {
      kind: row?.type === 'uuid' ? 'string' : KINDS[row?.category],
      isNullable: row?.isRequired === null ? undefined : !row?.isRequired,
    });
  }
  return described;
}

/** The schema of the JSON of an operation's success; undefined if it has none. */
function bodyOf({ responses }: Operation): Schema | undefined {
  const [, response] = Object.entries(responses).find(([status]) => status < '300') ?? [];
  return response?.content?.['application/json']?.schema;
}

/** The documented properties of an object or of the objects of an array. */
function propertiesOf(schema: Schema): Map<string, Column> {
  const { items, properties = {} } = resolve(schema);
  if (items !== undefined) {
    return propertiesOf(items);
  }
  return new Map(
    Object.entries(properties).map(([name, property]) => {
      const types = [property, ...(property.anyOf ?? [])].flatMap((one) => resolve(one).type ?? []);
      const [kind] = types.filter((type) => type !== 'null');
      return [name, { kind: kind === 'integer' ? 'number' : kind, isNullable: types.includes('null') }];
    }),
  );
}

/** What the operations were answered with. */
const statuses: string[] = [];

t.before(async () => {
  const ids = await makeRows(service, club);
  const order = ['POST', 'PUT', 'PATCH', 'GET', 'DELETE'];
  for (const endpoint of endpointsFor(ids).toSorted(
    (one, other) => order.indexOf(one.method) - order.indexOf(other.method),
  )) {
    const { method, path, body } = endpoint;
    const url = pathOf(endpoint, ids);
    const send = {
      POST: admin.post,
      PUT: admin.put,
      PATCH: admin.patch,
      GET: admin.get,
      DELETE: admin.delete,
    }[method as 'GET'];
    // Without the version that the example was made for: an earlier request may have changed the row.
    const { version: _version, ...fields } = (body ?? {}) as Record<string, unknown>;
    const { status } = await (method === 'GET' || method === 'DELETE'
      ? send(url)
      : send(url, fields as never));
    statuses.push(`${method} ${path}: ${status}`);
  }
});

t.test('every statement returns the documented fields, with their kinds and nullability', async (t) => {
  const undescribed: string[] = [];
  let compared = 0;
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path as object));
  for (const operation of operations) {
    const { operationId } = operation;
    const schema = bodyOf(operation);
    const statement = statements.get(operationId);
    if (schema === undefined || statement === undefined) {
      continue;
    }
    compared += 1;
    const columns = await columnsOf(statement);
    const properties = propertiesOf(schema);
    for (const hidden of ['sortKey', 'isNew', 'id'].filter((name) => !properties.has(name))) {
      columns.delete(hidden);
    }
    t.same(
      [...columns.keys()],
      [...properties.keys()],
      `${operationId} selects the fields of its DTO, in its order`,
    );
    for (const [name, { kind, isNullable }] of columns) {
      const documented = properties.get(name);
      if (kind === undefined || isNullable === undefined) {
        undescribed.push(`${operationId}.${name}`);
      }
      t.equal(
        kind ?? documented?.kind,
        documented?.kind,
        `the kind of ${operationId}.${name} in the DTO is that of its column`,
      );
      t.equal(
        isNullable ?? documented?.isNullable,
        documented?.isNullable,
        `${operationId}.${name} is Nullable in the DTO if its column can be null`,
      );
    }
  }
  const unsent = operations
    .filter(({ tags }) => !tags.includes('Operations'))
    .filter((operation) => bodyOf(operation) !== undefined && !statements.has(operation.operationId));
  t.same(
    unsent.map(({ operationId }) => operationId),
    [],
    `every operation with a body succeeds with the first example of its request: ${statuses.join(', ')}`,
  );
  t.comment(
    `${compared} statements; expressions, compared by name only or without nullability: ${undescribed.join(', ')}`,
  );
});
