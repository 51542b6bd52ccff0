import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { decodeCursor, encodeCursor, type KeyKind } from '../../src/resource/cursor.js';
import { root } from '../../tools/root.js';
import {
  addRow,
  document,
  type Endpoint,
  endpoints,
  fit,
  MISSING,
  makeRows,
  makers,
  makeStartedShift,
  operationOf,
  pathOf,
  SHIFT,
  tableOf,
  textsOf,
  withQuery,
} from '../setup/endpoints.js';
import { nextOf, walk } from '../setup/paging.js';
import { type Person, sendUnderLoad } from '../setup/send.js';
import { startService } from '../setup/service.js';

// biome-ignore lint/suspicious/noExplicitAny: rows of every list
type Row = any;

interface Parameter {
  name: string;
  in: string;
  schema: { enum?: string[]; format?: string; examples: unknown[]; 'x-text'?: string };
}

/** The parts of the operation of a list that these tests read. */
interface ListOperation {
  parameters: Parameter[];
  responses: { 200: { content: { 'application/json': { schema: { items: { $ref: string } } } } } };
}

/** A list of the document, with its query parameters. */
interface List {
  path: string;
  parameters: Parameter[];
  /** The fields that it can be sorted by. */
  sorts: string[];
  /** The field of a new row that `q` searches. */
  text: string;
  /** The formats of the fields of its rows. */
  fields: Record<string, { format?: string }>;
}

const PAGING = ['sort', 'limit', 'cursor'];
const lists: List[] = Object.entries(document.paths).flatMap(([path, operations]) => {
  const { get } = operations as unknown as { get?: ListOperation };
  const parameters = get?.parameters.filter((one) => one.in === 'query') ?? [];
  const words = parameters.find(({ name }) => name === 'sort')?.schema.enum;
  if (get === undefined || words === undefined || path.includes('{')) {
    return [];
  }
  const row = get.responses[200].content['application/json'].schema.items.$ref.split('/').at(-1) as string;
  const fields = document.components.schemas[row]?.properties ?? {};
  const [text = 'displayName'] = textsOf(path);
  return { path, parameters, text, fields, sorts: words.filter((word) => !word.startsWith('-')) };
});
const filtersOf = ({ parameters }: List) => parameters.filter(({ name }) => !PAGING.includes(name));
const isSearched = ({ parameters }: List) => parameters.some(({ name }) => name === 'q');
const bothWays = (sort: string) => [sort, `-${sort}`];

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const linked = { [north]: await makeRows(service, north), [south]: await makeRows(service, south) };
const ada = { [north]: service.as('ada', 'Admin', north), [south]: service.as('ada', 'Admin', south) };
const idsOf = (rows: Row[]): string[] =>
  rows.map(({ id, shiftId, memberId }) => id ?? `${shiftId} ${memberId}`);

/** The fields that are unique in their list: the path and the name. */
const distinct = new Set<string>();
/** Creates a row with this text, or with a similar one if it is unique. */
async function makeRow({ path, text }: List, clubId: string, value: string): Promise<void> {
  const maker = makers.find((one) => one.path === path);
  if (path === '/api/signups') {
    const person = service.as('maker', 'Admin', clubId);
    const { body } = await sendUnderLoad(() => person.post('/api/shifts', { ...SHIFT, title: value }));
    await sendUnderLoad(() => person.post(`/api/shifts/${body.id}/signup`));
    return;
  }
  if (path === '/api/attendance') {
    const person = service.as('maker', 'Admin', clubId);
    const shiftId = await makeStartedShift(person);
    const record = `/api/shifts/${shiftId}/attendance/${await person.memberId()}`;
    const { status } = await sendUnderLoad(() => person.put(record, { status: 'Attended' }));
    if (status !== 201) {
      throw new Error(`PUT ${record}: ${status}`);
    }
    return;
  }
  // Of each list without a POST the member is a row, or has one.
  if (maker === undefined || path === '/api/members') {
    await service.as('maker', 'Admin', clubId).post('/api/members', { displayName: value });
    return;
  }
  const row = { ...(fit(maker.body, linked[clubId] ?? {}) as object), [text]: value };
  const { status, body } = await addRow(service.as('maker', 'Admin', clubId), path, row);
  if (status !== 201) {
    throw new Error(`POST ${path} with its example and another text: ${status} ${body.detail}`);
  }
  for (const [name, sent] of Object.entries(row)) {
    if ((name === text || typeof sent === 'number') && body[name] !== sent) {
      distinct.add(`${path} ${name}`);
    }
  }
}

/** Rows of the club north, for every filter and order. */
const anna = service.as('anna', 'Admin', north, { name: 'Anna 50% O' });
const ben = service.as('ben', 'Member', north, { name: 'ben 50_o', email: 'anna@example.org' });
const [annaId, benId] = [await anna.memberId(), await ben.memberId()];
const fay = service.as('fay', 'Manager', north, { name: 'Ämilie' });
await fay.memberId();
await anna.post('/api/members', { displayName: 'Anna’s son', reference: '50%' });
await service.as('dora-anna', 'Viewer', north, { name: 'Ämilie' }).memberId();
const titles = ['Mow me', 'mow 50% of', 'MOW 50_OF', 'Bar', 'Bar', 'Same Äpfel', 'äpfel'];
const due = ['2031-01-01T00:00:00Z', '2031-01-01T00:00:00.000001Z', '2031-01-02T00:00:00Z', null];
const [ten, noon, two] = ['2031-05-01T10:00:00Z', '2031-05-01T12:00:00Z', '2031-05-01T14:00:00Z'] as const;
for (const [index, title] of titles.entries()) {
  for (const assigneeId of [null, annaId, benId]) {
    const { body } = await anna.post('/api/tasks', { title, dueAt: due[index % 4], assigneeId });
    if (assigneeId !== null && index % 3 === 0) {
      await anna.patch(`/api/tasks/${body.id}`, { state: 'InProgress' });
    }
  }
  for (const [startsAt, endsAt, limits] of [
    [ten, noon, { signupOpensAt: '2031-01-01T00:00:00Z' }],
    [noon, two, { signupClosesAt: '2026-01-01T00:00:00Z' }],
    [ten, two, { signupOpensAt: '2026-01-01T00:00:00Z', signupClosesAt: '2031-01-01T00:00:00Z' }],
  ] as const) {
    const people = [anna, ben].slice(0, index % 3);
    // Of those for which nobody signs up.
    const window = people.length === 0 ? limits : {};
    const { body } = await anna.post('/api/shifts', { title, startsAt, endsAt, capacity: 2, ...window });
    for (const person of people) {
      await person.post(`/api/shifts/${body.id}/signup`);
    }
  }
  for (const list of lists.filter(({ path }) => !/members|tasks|shifts/.test(path))) {
    await makeRow(list, north, title);
  }
}
// A full one, for which Ben waits.
const { body: full } = await anna.post('/api/shifts', { ...SHIFT, capacity: 1 });
await fay.post(`/api/shifts/${full.id}/signup`);
await ben.post(`/api/shifts/${full.id}/wait`);
const { body: batch } = await anna.post('/api/shifts/batch', {
  shifts: titles.map((title) => ({ title, startsAt: noon, endsAt: two, capacity: 2 })),
});
const [{ batchId }] = batch;
// As after an import: many rows have one time, which the service itself rarely makes.
for (const { path, sorts } of lists) {
  for (const sort of sorts.filter((name) => ['createdAt', 'joinedAt'].includes(name))) {
    const column = sort.replace('At', '_at');
    await service.db.queryAsAdmin(`update ${tableOf(path)} set ${column} = '2026-01-01'`);
  }
}

const micros = (time: string | null) =>
  time?.replace(/(\.\d+)?Z$/, (_, fraction = '.') => `${fraction.padEnd(7, '0')}Z`) ?? '9';

/** Compares two values of a field of the list: null is last, text is in natural language order. */
function comparerOf({ fields }: List, field: string): (one: Row, other: Row) => number {
  const format = fields[field]?.format;
  const { compare } = new Intl.Collator('und');
  return (one, other) => {
    if (one === null || other === null) {
      return Number(one === null) - Number(other === null);
    }
    if (typeof one === 'number') {
      return one - other;
    }
    const [left, right] = format === 'date-time' ? [micros(one), micros(other)] : [one, other];
    return format === undefined ? compare(left, right) : left < right ? -1 : Number(left > right);
  };
}

t.test('a list is in its order, even with equal keys, and the same for every page size', async (t) => {
  t.ok(lists.length >= 3);
  for (const list of lists) {
    for (const sort of list.sorts) {
      const { body: rising } = await anna.get(`${list.path}?limit=500&sort=${sort}`);
      const keys = rising.map((row: Row) => row[sort]);
      t.ok(
        ['updatedAt', 'sequence'].includes(sort) ||
          distinct.has(`${list.path} ${sort}`) ||
          new Set(keys).size < keys.length,
        `${list.path} has equal keys of ${sort}`,
      );
      const order = `${list.path} by ${sort}: null is last, text has the collation of its column`;
      t.same(keys, [...keys].sort(comparerOf(list, sort)), order);
      for (const [by, whole] of Object.entries({ [sort]: rising, [`-${sort}`]: rising.toReversed() })) {
        for (const limit of [1, 2, 5, 500]) {
          const rows = await walk(anna, `${list.path}?sort=${by}&limit=${limit}`);
          t.same(rows, whole, `${list.path} by ${by}, ${limit} at a time`);
        }
      }
    }
  }
});

t.test('the table in docs/api.md has the filters and orders of every list', async (t) => {
  const page = await readFile(join(root, 'docs/api.md'), 'utf8');
  const names = (cell = '') =>
    [...cell.replace(/\([^)]*\)/g, '').matchAll(/`-?(\w+)/g)].map(([, name]) => name);
  const table = [...page.matchAll(/^\| `(\/api\/[\w-]+)` \| (.*) \| (.*) \|$/gm)].map(
    ([, path, filters, sorts]) => ({ path, filters: names(filters).sort(), sorts: names(sorts).sort() }),
  );
  t.same(
    table,
    lists.map((list) => ({
      path: list.path,
      filters: filtersOf(list)
        .map(({ name }) => name)
        .sort(),
      sorts: [...list.sorts].sort(),
    })),
    'a line for each list, in the order of src/resources.ts',
  );
});

t.test('without sort, a list has the order of the contract', async (t) => {
  for (const [list, sort] of Object.entries({
    attendance: 'startsAt',
    events: 'sequence',
    hours: 'memberName',
    signups: 'startsAt',
    tasks: '-createdAt',
    shifts: 'startsAt',
    members: 'displayName',
  })) {
    t.same((await anna.get(`/api/${list}`)).body, (await anna.get(`/api/${list}?sort=${sort}`)).body, list);
  }
});

t.test('no row is repeated or skipped while rows are added and the cursor’s row is deleted', async (t) => {
  const person = ada[south] as Person;
  for (const list of lists) {
    let count = 0;
    const add = () => makeRow(list, south, ['b', 'A', 'a', 'ä', 'a'][count++ % 5] as string);
    while (count < 6) {
      await add();
    }
    for (const sort of list.sorts.flatMap(bothWays)) {
      const path = `${list.path}?sort=${sort}`;
      const before = idsOf((await person.get(`${path}&limit=500`)).body);
      const first = await person.get(`${path}&limit=3`);
      await add();
      const { id, hasLogin } = first.body[2];
      // A member with a login is not deleted.
      if (document.paths[`${list.path}/{id}`]?.delete !== undefined && hasLogin !== true) {
        t.equal((await person.delete(`${list.path}/${id}`)).status, 204);
      }
      const seen = idsOf([...first.body, ...(await walk(person, nextOf(first)))]);
      t.equal(new Set(seen).size, seen.length, `${path}: no row twice`);
      t.equal(new Set([...seen, ...before]).size, seen.length, `${path}: no row skipped`);
    }
  }
});

t.test('limit is 1 to 500, by default 100', async (t) => {
  const crowded = await service.db.makeClub('crowded');
  linked[crowded] = await makeRows(service, crowded);
  const person = service.as('ada', 'Admin', crowded);
  const unlike = ['+5', '%2B5', '%205', '5%20', '5%0a', '5.0', '1e2', '0x10', '1_0', '٥', 'true', 'null'];
  for (const list of lists) {
    await Promise.all(Array.from({ length: 105 }, () => makeRow(list, crowded, 'One of many')));
    const count = async (query: string) => {
      const page = await person.get(`${list.path}${query}`);
      return [page.body.length, nextOf(page) !== undefined];
    };
    t.same(await count(''), [100, true], list.path);
    t.same(await count('?limit=1'), [1, true], list.path);
    const [all, hasNext] = await count('?limit=500');
    t.ok(Number(all) >= 105 && !hasNext, list.path);
    t.same(await count(`?limit=${all}`), [all, false], `${list.path}: a full page can be the last`);
    for (const limit of ['0', '501', '-1', '1.5', 'x', '1&limit=1', '9'.repeat(400), ...unlike]) {
      const { status, body } = await person.get(`${list.path}?limit=${limit}`);
      t.match([status, body.code, body.errors?.[0]?.parameter], [400, 'invalid_parameter', 'limit'], limit);
    }
  }
});

t.test(
  'a value that a parameter does not have, an empty one and a second one are a 400 for the parameter',
  async (t) => {
    for (const { path, parameters } of lists) {
      for (const { name, schema } of parameters) {
        const [example] = schema.examples;
        const words: string[] = schema.enum ?? (Array.isArray(example) ? example : []);
        const values = [
          ...(schema['x-text'] === undefined ? ['', 'nonsense', 'id', 'null', 'false'] : []),
          ...words.flatMap((word) => [word.toUpperCase(), word.toLowerCase()]),
          ...(words.length > 0 ? [`${words[0]},nonsense`, `${words[0]},`] : []),
        ].filter((value) => !words.includes(value));
        for (const value of [...values, `${example}&${name}=${example}`]) {
          const { status, body } = await anna.get(`${path}?${name}=${value}`);
          const isCursor = name === 'cursor' && !value.includes('&');
          const expected = isCursor ? [400, 'invalid_cursor'] : [400, 'invalid_parameter', name];
          t.match([status, body.code, body.errors?.[0]?.parameter], expected, `${path}?${name}=${value}`);
        }
      }
      const { body } = await anna.get(`${path}?limit=0&sort=nonsense&colour=green`);
      t.same(
        body.errors.map(({ parameter }: { parameter: string }) => parameter).sort(),
        ['colour', 'limit', 'sort'],
        'all faults at once',
      );
    }
  },
);

t.test('q is a case-insensitive part of the text, trimmed, and % and _ are literal', async (t) => {
  const club = await service.db.makeClub('letters');
  linked[club] = await makeRows(service, club);
  const person = service.as('ada', 'Admin', club, { name: 'Ada' });
  const texts = ['50% off', '50_off', '500 off', 'Äpfel', 'ΟΔΟΣΑ', 'οδός', 'Straße', 'back\\slash'];
  const found: [q: string, texts: string[]][] = [
    ['50%', ['50% off']],
    ['0_O', ['50_off']],
    [' 0% OFF ', ['50% off']],
    ['äPF', ['Äpfel']],
    ['\\', ['back\\slash']],
    // Letters with two small forms.
    ['ΟΔΟΣ', ['ΟΔΟΣΑ']],
    ['οδοσ', ['ΟΔΟΣΑ']],
    ['ΌΣ', ['οδός']],
    ['STRASSE', ['Straße']],
    ['strasse', ['Straße']],
    ['straßen', []],
  ];
  for (const list of lists.filter(isSearched)) {
    for (const text of texts) {
      await makeRow(list, club, text);
    }
    const search = (q: string) => person.get(`${list.path}?limit=500&q=${encodeURIComponent(q)}`);
    for (const [q, expected] of found) {
      const { body } = await search(q);
      const texts = body.map((row: Row) => row[list.text]).sort();
      t.same(texts, [...expected].sort(), `${list.path}?q=${q}: the column has collate "und-x-icu"`);
    }
    t.equal((await search(` ${'🎾'.repeat(100)} `)).status, 200, list.path);
    t.match(
      await search('🎾'.repeat(101)),
      { status: 400, body: { errors: [{ parameter: 'q' }] } },
      list.path,
    );
  }
});

/** A value of a filter, and the rows that match it. */
type Choice = [value: string | undefined, matches: (row: Row) => boolean];
const any: Choice = [undefined, () => true];
const containing = (field: string, ...parts: string[]): Choice[] => [
  any,
  ...parts.map((part): Choice => [part, (row) => row[field].toLowerCase().includes(part.toLowerCase())]),
];
/** Rows before (-1) or after (1) a time, in several notations. */
const bound = (sign: 1 | -1, field: string, time: string, written = time): Choice => [
  written,
  (row) => row[field] !== null && micros(row[field]).localeCompare(micros(time)) === sign,
];
const isOpen = ({ startsAt, signupOpensAt, signupClosesAt }: Row) => {
  const now = micros(new Date().toISOString());
  return (
    micros(startsAt) > now &&
    (signupOpensAt === null || micros(signupOpensAt) < now) &&
    (signupClosesAt === null || micros(signupClosesAt) > now)
  );
};
const assigned = (value: string, id: string | null): Choice => [value, (row) => row.assigneeId === id];

const manager = service.as('ben', 'Manager', north, { name: 'ben 50_o' });
/** The filters of each list of the contract, as `ben` uses them when he is a Manager. */
const filters: Record<string, Record<string, Choice[]>> = {
  '/api/tasks': {
    state: [any, ['InProgress,Assigned', (row) => row.state !== 'Open'], ['Done', () => false]],
    assigneeId: [
      any,
      assigned('me', benId),
      assigned('none', null),
      assigned(annaId.toUpperCase(), annaId),
      assigned(north, north),
    ],
    dueBefore: [any, bound(-1, 'dueAt', '2031-01-02T00:00:00Z', '2031-01-02T02:00:00+02:00')],
    dueAfter: [any, bound(1, 'dueAt', '2031-01-01T00:00:00Z')],
    q: containing('title', 'moW', '50%', '0_o', 'ÄP'),
  },
  '/api/shifts': {
    from: [
      any,
      bound(1, 'endsAt', noon, '2031-05-01T13:00:00+01:00'),
      bound(1, 'endsAt', '2031-05-01T11:59:59.999999Z'),
    ],
    to: [any, bound(-1, 'startsAt', noon), bound(-1, 'startsAt', '2031-05-01T12:00:00.000001Z')],
    startsFrom: [
      any,
      ['2031-05-01T13:00:00+01:00', (row) => micros(row.startsAt) >= micros(noon)],
      bound(1, 'startsAt', noon, '2031-05-01T12:00:00.000001Z'),
    ],
    signedUp: [
      any,
      ['me', (row) => row.isSignedUp],
      // Of shifts with two places: others have the signups of another member.
      [annaId.toUpperCase(), (row) => row.capacity === 2 && row.signupCount > 0],
      [MISSING, () => false],
    ],
    waiting: [any, ['me', (row) => row.isWaiting]],
    batchId: [any, [batchId.toUpperCase(), (row) => row.batchId === batchId], [MISSING, () => false]],
    hasFreeSlots: [any, ['true', (row) => row.freeSlots > 0]],
    signupOpen: [any, ['true', isOpen]],
    q: containing('title', 'bAr', '50%', '0_o', 'äP'),
  },
  '/api/members': {
    role: [any, ...['Viewer', 'Admin'].map((name): Choice => [name, (row) => row.role === name])],
    status: [any, ['Left,Active', () => true], ['Erased', () => false]],
    hasLogin: [any, ['true', (row) => row.hasLogin], ['false', (row) => !row.hasLogin]],
    reference: [any, ['50%', (row) => row.reference === '50%'], ['none', () => false]],
    q: containing('displayName', 'aNNa', '50%', '0_O', 'äMI', 'example', '_'),
  },
};

t.test('a list with any combination of its filters has the rows that match all of them', async (t) => {
  for (const [path, choices] of Object.entries(filters)) {
    const list = lists.find((one) => one.path === path) as List;
    t.same(
      Object.keys(choices).sort(),
      filtersOf(list)
        .map(({ name }) => name)
        .sort(),
      path,
    );
    let combinations = [{ query: 'limit=500', rows: (await manager.get(`${path}?limit=500`)).body as Row[] }];
    for (const [name, values] of Object.entries(choices)) {
      combinations = combinations.flatMap(({ query, rows }) =>
        values.map(([value, matches]) => ({
          query: value === undefined ? query : `${query}&${name}=${encodeURIComponent(value)}`,
          rows: rows.filter(matches),
        })),
      );
    }
    // Each filter alone in every order: the condition on a time depends on it.
    for (const sort of list.sorts.flatMap(bothWays)) {
      const all = (await manager.get(`${path}?limit=500&sort=${sort}`)).body as Row[];
      for (const [name, values] of Object.entries(choices)) {
        for (const [value = '', matches] of values.filter((choice) => choice !== any)) {
          const query = `limit=500&sort=${sort}&${name}=${encodeURIComponent(value)}`;
          combinations.push({ query, rows: all.filter(matches) });
        }
      }
    }
    const wrong: string[] = [];
    for (const { query, rows } of combinations) {
      const { status, body } = await manager.get(`${path}?${query}`);
      wrong.push(...(status === 200 && JSON.stringify(body) === JSON.stringify(rows) ? [] : [query]));
    }
    t.same(wrong, [], path);
  }
});

t.test('a window of shifts ends at or after its begin, as moments', async (t) => {
  const window = (to: string) => anna.get(`/api/shifts?from=${noon}&to=${encodeURIComponent(to)}`);
  t.match(await window('2031-05-01T14:00:00+02:00'), { status: 200, body: { length: 7 } });
  t.match(await window('2031-05-01T12:30:00+02:00'), {
    status: 400,
    body: { code: 'invalid_parameter', errors: [{ parameter: 'to' }] },
  });
  const { body } = await anna.get('/api/shifts?from=2031-01-02T00:00:00Z&to=2031-01-01T00:00:00Z&limit=0');
  t.same(body.errors.map(({ parameter }: { parameter: string }) => parameter).sort(), ['limit', 'to'], 'all faults at once'); // biome-ignore format: one thing
});

t.test('a cursor is valid for its list, club, order and filters, and with “me” for its caller', async (t) => {
  const cursorOf = async (path: string, query: string) => {
    const link = nextOf(await anna.get(`${path}?limit=1&${query}`));
    return /cursor=([^&]+)/.exec(link ?? `${path}?${query} has one page`)?.[1] as string;
  };
  const use = async (person: Person, path: string, query: string, cursor: string) => {
    const { status, body } = await person.get(`${path}?${query}&cursor=${cursor}`);
    return status === 200 ? 200 : body.code;
  };
  // Of a role that every list accepts.
  const another = ada[north] as Person;
  for (const list of lists) {
    const { path, parameters, sorts } = list;
    const [standard] = parameters.find(({ name }) => name === 'sort')?.schema.examples ?? [];
    const cursor = await cursorOf(path, '');
    for (const query of ['', 'limit=3', 'limit=500', `sort=${standard}`]) {
      t.equal(await use(anna, path, query, cursor), 200, `${path}?${query}`);
      t.equal(await use(another, path, query, cursor), 200, `${path}?${query} by another caller`);
    }
    t.equal(await use(ada[south] as Person, path, '', cursor), 'invalid_cursor', `${path} in another club`);
    for (const other of lists.filter((one) => one.path !== path)) {
      t.equal(await use(anna, other.path, '', cursor), 'invalid_cursor', `${path} in ${other.path}`);
    }
    for (const sort of sorts.flatMap(bothWays).filter((word) => word !== standard)) {
      t.equal(await use(anna, path, `sort=${sort}`, cursor), 'invalid_cursor', `${path}?sort=${sort}`);
    }
    for (const forged of [
      'nonsense',
      cursor.slice(1),
      cursor.slice(0, -4),
      `${cursor}AAAA`,
      cursor.toLowerCase(),
    ]) {
      t.equal(await use(anna, path, '', forged), 'invalid_cursor', `${path}: ${forged}`);
    }
    for (const { name, schema } of filtersOf(list)) {
      const query = `${name}=${encodeURIComponent(String(schema.examples[0]))}`;
      t.equal(await use(anna, path, query, cursor), 'invalid_cursor', `${path}?${query}`);
    }
    if (!isSearched(list)) {
      continue;
    }
    const found = await cursorOf(path, 'q=m');
    t.equal(await use(another, path, 'q=m&limit=3', found), 200, `${path}?q=m`);
    t.equal(await use(another, path, '', found), 'invalid_cursor', `${path} without q=m`);
    t.equal(await use(another, path, 'q=me', found), 'invalid_cursor', `${path} with another q`);
  }
  for (const query of [
    'tasks?assigneeId=me',
    'shifts?signedUp=me',
    'signups?memberId=me',
    'events?memberId=me',
    'events?actorId=me',
    'tasks?q=me',
    'shifts?q=me',
  ]) {
    const [path, filter] = `/api/${query}`.split('?') as [string, string];
    const cursor = await cursorOf(path, filter);
    t.equal(await use(anna, path, filter, cursor), 200, query);
    const isOwn = !filter.startsWith('q');
    t.equal(
      await use(ben, path, filter, cursor),
      isOwn ? 'invalid_cursor' : 200,
      `${query} by another caller`,
    );
  }
});

t.test('the link to the next page keeps the other parameters', async (t) => {
  for (const list of lists.filter(isSearched)) {
    for (const text of ['why? a&b=1', 'why? 100%']) {
      await makeRow(list, north, text);
    }
    const link = nextOf(await anna.get(`${list.path}?q=why?&limit=1`)) as string;
    t.match(link, /\?q=why%3F&limit=1&cursor=[\w-]+$/);
    for (const query of ['q=why?', 'q=why%3F', 'q=%3F%20']) {
      t.equal((await walk(anna, `${list.path}?${query}&limit=1`)).length, 2, `${list.path}?${query}`);
    }
    t.equal((await walk(anna, `${list.path}?q=why?+a%26b=1&limit=1`)).length, 1, list.path);
  }
  const query = 'assigneeId=me&dueAfter=2030-01-01T02%3A00%3A00%2B02%3A00&state=Assigned%2CInProgress';
  const link = nextOf(await anna.get(`/api/tasks?${query}&limit=1`)) as string;
  t.equal(link.replace(/[\w-]+$/, ''), `/api/tasks?${query}&limit=1&cursor=`);
  t.same(
    idsOf(await walk(anna, `/api/tasks?${query}&limit=1`)),
    idsOf((await anna.get(`/api/tasks?${query}`)).body),
  );
});

/** Adds a row to a list, which can be below a row of the club. */
async function addTo({ path }: Endpoint, url: string, clubId: string): Promise<void> {
  const list = lists.find((one) => one.path === path);
  if (list !== undefined) {
    await makeRow(list, clubId, 'One more');
    return;
  }
  const put = endpoints.find((one) => one.method === 'PUT' && one.path === `${path}/:memberId`);
  const maker = service.as('maker', 'Admin', clubId);
  const { body: member } = await maker.post('/api/members', { displayName: 'One more' });
  await maker.put(`${url}/${member.id}`, put?.body);
}

t.test('a list has a weak ETag, and If-None-Match with it gets a 304 until the page changes', async (t) => {
  const club = await service.db.makeClub();
  const ids = await makeRows(service, club);
  linked[club] = ids;
  const token = service.token({ sub: 'ada', clubs: { [club]: 'Admin' } });
  const read = (url: string, tags?: string, method: 'GET' | 'HEAD' = 'GET') => {
    const caller = { authorization: `Bearer ${token}`, 'x-tenant-id': club };
    return service.send(method, url, {
      headers: tags === undefined ? caller : { ...caller, 'if-none-match': tags },
    });
  };
  const isList = (endpoint: Endpoint) =>
    endpoint.method === 'GET' && operationOf(endpoint).parameters?.some(({ name }) => name === 'cursor');
  for (const endpoint of endpoints.filter(isList)) {
    const url = pathOf(endpoint, ids);
    await addTo(endpoint, url, club);
    await addTo(endpoint, url, club);
    const page = withQuery(url, 'limit=1');
    const first = await read(page);
    const { headers } = first;
    const etag = String(headers.etag);
    t.match(etag, /^W\/"[\w-]{43}"$/, page);
    t.match(headers.link, /rel="next"$/, page);
    t.equal((await read(page, undefined, 'HEAD')).headers.etag, etag, `HEAD ${page}`);
    for (const tags of [etag, etag.slice(2), `"other", ${etag}`, `nonsense, ${etag}`, '*']) {
      for (const method of ['GET', 'HEAD'] as const) {
        const same = await read(page, tags, method);
        const { status, text } = same;
        t.same([status, text, same.headers['content-type']], [304, '', undefined], `${page} ${tags}`);
        for (const name of ['etag', 'link', 'cache-control', 'vary']) {
          t.equal(same.headers[name], headers[name], `${page} ${tags}: ${name}`);
        }
      }
    }
    for (const tags of ['"other"', etag.replaceAll('"', ''), `"other", *`, '']) {
      t.match(await read(page, tags), { status: 200, headers: { etag } }, `${page} ${tags}`);
    }
    const next = await read(nextOf(first) as string, etag);
    t.equal(next.status, 200, page);
    t.not(next.headers.etag, etag, page);
    const whole = withQuery(url, 'limit=500');
    const before = await read(whole);
    await addTo(endpoint, url, club);
    const after = await read(whole, String(before.headers.etag));
    t.equal(after.status, 200, `${whole} with another row`);
    t.not(after.headers.etag, before.headers.etag, whole);
  }
});

t.test('a full page has another ETag once it links to a next page', async (t) => {
  const person = service.as('ada', 'Admin', await service.db.makeClub());
  const page = '/api/tasks?sort=title&limit=1';
  await person.post('/api/tasks', { title: 'A' });
  const full = await person.get(page);
  t.equal(nextOf(full), undefined);
  await person.post('/api/tasks', { title: 'B' });
  const linking = await person.get(page, { 'if-none-match': String(full.headers.etag) });
  t.same([linking.status, linking.text], [200, full.text]);
  t.ok(nextOf(linking));
});

t.test('If-Modified-Since on a list is ignored, and If-None-Match on the list of clubs too', async (t) => {
  for (const path of [...lists.map(({ path }) => path), '/api/clubs/me']) {
    const { status, body } = await anna.get(path, { 'if-modified-since': new Date().toUTCString() });
    t.ok(status === 200 && Array.isArray(body), path);
  }
  const clubs = await anna.get('/api/clubs/me', { 'if-none-match': '*' });
  t.match(clubs, { status: 200, headers: { etag: undefined } });
});

t.test('a list without rows is an empty array', async (t) => {
  const empty = service.as('eve', 'Admin', await service.db.makeClub('empty'));
  for (const { path } of makers) {
    // The caller is a member.
    const { status, body, headers } = await empty.get(
      path === '/api/members' ? `${path}?hasLogin=false` : path,
    );
    t.same([status, body, headers.link], [200, [], undefined], path);
  }
});

t.test(
  'a cursor is accepted only with an id, and a key of the type by which its list is sorted',
  async (t) => {
    const uuid = '01a21077-73e0-7e4c-b849-bbfc70a69f7b';
    const decoded = (key: string, kind: KeyKind, id = uuid) => {
      try {
        return decodeCursor(encodeCursor({ key, id }, 'scope'), 'scope', kind).key;
      } catch {
        return undefined;
      }
    };
    const keys: Record<KeyKind, { good: string[]; bad: string[] }> = {
      instant: {
        good: ['2026-05-01T18:00:00.123456Z', 'infinity'],
        bad: ['2026-05-01', '2026-05-01T18:00:00', 'now', '', '5'],
      },
      day: {
        good: ['2026-05-01', 'infinity'],
        bad: ['2026-02-30', '2026-05-01T18:00:00Z', 'today', '', '5'],
      },
      integer: {
        good: ['0', '-5', '2147483647'],
        bad: ['2147483648', '9'.repeat(30), '1.5', '1e3', 'NaN', ''],
      },
      bigint: {
        good: ['0', '-5', '9007199254740991'],
        bad: ['9007199254740992', '9'.repeat(30), '1.5', '1e3', 'NaN', ''],
      },
      decimal: {
        good: ['0', '-5', '12.50', '9'.repeat(30)],
        bad: ['1e400', '.5', '1.', 'NaN', 'Infinity', ''],
      },
      text: { good: ['', 'Mow', '2026'], bad: ['\u0000', '\ud800', 'a\nb'] },
    };
    for (const [kind, { good, bad }] of Object.entries(keys) as [
      KeyKind,
      { good: string[]; bad: string[] },
    ][]) {
      t.same(
        good.filter((key) => decoded(key, kind) !== key),
        [],
        kind,
      );
      t.same(
        bad.filter((key) => decoded(key, kind) !== undefined),
        [],
        kind,
      );
    }
    for (const id of ['', 'x', `{${uuid}}`, uuid.slice(1), 'infinity', 5, null, [uuid]]) {
      t.equal(decoded('Mow', 'text', id as string), undefined, `the id ${id}`);
    }
    // PostgreSQL reads neither of these as they are written.
    t.equal(decoded('2026-05-01T18:00:00+23:00', 'instant'), '2026-04-30T19:00:00.000000Z');
    t.equal(decoded(`2026-05-01T18:00:00.${'0'.repeat(300)}Z`, 'instant'), '2026-05-01T18:00:00.000000Z');
  },
);
