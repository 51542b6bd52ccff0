import t, { type Test } from 'tap';
import { Decimal, TextListInput } from '../../src/validation/schemas.js';
import {
  document,
  type Endpoint,
  endpoints,
  fit,
  MEMBER,
  MISSING,
  makeClubFor,
  pathOf,
} from '../setup/endpoints.js';
import { bodySchemaOf, errorOf, type Field, fieldErrors, fieldsWhere, writesOf } from '../setup/fields.js';
import type { Response } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { fingerprint } from '../setup/testbed.js';

const service = await startService(t);
const club = await service.db.makeClub('north');
const anna = service.as('anna', 'Admin', club);
await anna.memberId();
const writes = await writesOf(service);

const typesOf = ({ type }: Field): string[] => [type].flat();
const isInteger = (field: Field) => typesOf(field).includes('integer');
const isArray = (field: Field) => typesOf(field).includes('array');
const isTextList = ({ items }: Field) => items?.['x-text'] !== undefined;
const isObject = (field: Field) => typesOf(field).includes('object');

/** Values of each type of JSON. */
const values: Record<string, unknown[]> = {
  null: [null],
  boolean: [true],
  string: ['5', ''],
  integer: [5],
  number: [1.5],
  array: [[], [5], ['Mow']],
  object: [{}, { title: 'Mow' }],
};

const decimals = {
  valid: ['0', '999', '12.5', '0.01', '100.00'],
  invalid: ['01', '-1', '+1', '1.', '.5', '1e2', '1,5', 'NaN', '', '٣', '9'.repeat(40), '0.123456789'],
};

/** Values that a field does not have. */
function wrongValues(field: Field): unknown[] {
  const types = typesOf(field);
  const { enum: words = [], format, pattern, minimum = 0, maximum = 0 } = field;
  const variants = words.flatMap((word) => [word.toLowerCase(), word.toUpperCase(), ` ${word}`]);
  return [
    ...Object.entries(values).flatMap(([type, some]) => (types.includes(type) ? [] : some)),
    ...(isInteger(field) ? [minimum - 1, -1, maximum + 1, 2 ** 31, 2 ** 53, 1e300] : []),
    ...(words.length > 0 ? ['', 'nonsense', ...variants.filter((word) => !words.includes(word))] : []),
    ...(format === 'uuid'
      ? ['', 'me', '5', `urn:uuid:${MISSING}`, `{${MISSING}}`, `${MISSING}0`, MISSING.replaceAll('-', '')]
      : []),
    ...(pattern === undefined ? [] : decimals.invalid),
  ];
}

/** Asserts that no row of a club has changed after the work. */
async function changesNothing(t: Test, clubId: string, work: () => Promise<void>): Promise<void> {
  const before = await fingerprint(service.db, clubId);
  await work();
  t.same(await fingerprint(service.db, clubId), before, 'nothing is written');
}

t.test(
  'a value of another type or beyond its limits is refused at its field, and nothing is written',
  async (t) => {
    t.ok(writes.length >= 5);
    const wrong: unknown[] = [];
    for (const write of writes) {
      await changesNothing(t, write.clubId, async () => {
        for (const [name, field] of Object.entries(write.fields)) {
          for (const value of wrongValues(field)) {
            const faults = fieldErrors(await write.sendWith({ [name]: value }));
            wrong.push(...(faults.join() === `/${name}` ? [] : [{ write: write.name, name, value, faults }]));
          }
        }
      });
    }
    t.same(wrong, []);
  },
);

t.test('a missing required field, and null in a field that needs a value, is refused', async (t) => {
  for (const write of writes.filter(({ required }) => required.length > 0)) {
    const pointers = write.required.map((name) => `/${name}`).sort();
    t.same(fieldErrors(await write.send({})), pointers, write.name);
    for (const name of write.required) {
      t.same(fieldErrors(await write.sendWith({ [name]: undefined })), [`/${name}`], `${write.name} ${name}`);
      t.same(
        fieldErrors(await write.sendWith({ [name]: null })),
        [`/${name}`],
        `${write.name} ${name}: null`,
      );
    }
  }
});

/** The limits of integers in the contract. */
const limits: Record<string, [minimum: number, maximum: number]> = {
  capacity: [1, 10_000],
  version: [1, 2_147_483_647],
};

t.test('a number is an integer within the limits of the contract, however it is written', async (t) => {
  // JSON has one kind of number, so 7.0 and 1E4 are integers.
  const written = [
    '7.0', '8e0', '1E4', '0.9e1', '1e400', '-1e400', '1e-400', '-0', '0', '0.5', '1.0000001', '10000.5', '9007199254740993',
    '2147483648', '18446744073709551616', '1e21', '-1', `1${'0'.repeat(400)}`, '"5"', '[5]', '{}', 'true',
  ]; // biome-ignore format: a list
  const malformed = ['05', '+5', '0x5', '.5', '5.', '5_0', '5n', 'Infinity', 'NaN', '-'];
  for (const write of writes) {
    for (const [name, { minimum = 0, maximum = 0 }] of fieldsWhere(write, isInteger)) {
      const at = `${write.name} ${name}`;
      t.same([minimum, maximum], limits[name] ?? [minimum, maximum], at);
      const send = (number: string) =>
        write.send(JSON.stringify({ ...write.least, [name]: 'number' }).replace('"number"', number));
      const isFit = (number: string) => {
        const value = JSON.parse(number);
        return Number.isInteger(value) && value >= minimum && value <= maximum;
      };
      for (const number of written.filter((one) => !isFit(one))) {
        t.same(fieldErrors(await send(number)), [`/${name}`], `${at} ${number}`);
      }
      for (const number of malformed) {
        t.same(fieldErrors(await send(number)), ['400 malformed_json'], `${at} ${number}`);
      }
      for (const number of [...written.filter(isFit), `${minimum}.0`, `${maximum}.0`]) {
        const { status, body } = await send(number);
        // A version that is not the current one is valid, and a conflict.
        const isAccepted = name === 'version' ? [200, 409].includes(status) : body[name] === Number(number);
        t.ok(isAccepted, `${at} ${number}: ${status}`);
      }
    }
  }
});

t.test('a decimal number is text, with no more digits than its column', async (t) => {
  const block = Decimal({ digits: 3, scale: 2 });
  for (const value of decimals.valid) {
    t.equal(errorOf(block, value), undefined, value);
  }
  const format =
    /^`\/field`: This has the wrong format\. A decimal number such as 12\.50, with at most 3 digits before .* and 2 after it\.$/;
  for (const value of [...decimals.invalid, '1000', '1.234']) {
    t.match(errorOf(block, value), format, value);
  }
  t.match(errorOf(block, 12.5), /must be a string/);
  for (const write of writes) {
    for (const [name] of fieldsWhere(write, ({ pattern }) => pattern !== undefined)) {
      for (const value of decimals.valid) {
        const { status, body } = await write.sendWith({ [name]: value });
        t.ok(status < 300 && Number(body[name]) === Number(value), `${write.name} ${name}: ${value}`);
      }
    }
  }
});

const lists = {
  valid: [['bar'], ['a,b', '"', '\\', 'null', '{}', '__proto__'], ['Äpfel', 'äpfel', '🎾'.repeat(10)]],
  /** Each with the place of its error below the field. */
  invalid: [
    [['a', 'a'], ''],
    [['a', ' a '], ''],
    [['a', 5], '/1'],
    [['a', null], '/1'],
    [['a', ['b']], '/1'],
    [['', 'a'], '/0'],
    [['a', ' \n '], '/1'],
    [['a', 'b\u0000'], '/1'],
    [['\ud800', 'b'], '/0'],
  ] as [unknown[], string][],
};

t.test('an array has different texts, within its limits; the error of a text is at its place', async (t) => {
  const block = TextListInput({ minItems: 1, maxItems: 6, maxLength: 10 });
  for (const value of lists.valid) {
    t.equal(errorOf(block, value), undefined, JSON.stringify(value));
  }
  for (const [value, at] of lists.invalid) {
    t.match(errorOf(block, value), `\`/field${at}\`: `, JSON.stringify(value));
  }
  for (const [value, detail] of [
    [[], 'This needs at least 1 item.'],
    [[...'abcdefg'], 'This may have at most 6 items.'],
    [['a', 'b', 'a'], 'The items 0 and 2, counted from 0, are equal.'],
    ['a', 'This must be an array.'],
    [['a'.repeat(11)], 'This may have at most 10 characters, after trimming.'],
  ] as const) {
    t.match(errorOf(block, value), detail, JSON.stringify(value));
  }
  for (const write of writes) {
    for (const [name, { minItems = 0, maxItems = 0, items }] of fieldsWhere(write, isTextList)) {
      const at = `${write.name} ${name}`;
      const texts = Array.from({ length: maxItems + 1 }, (_, index) =>
        String(index).padStart(items?.maxLength ?? 0, 'x'),
      );
      const valid = [...lists.valid, texts.slice(1), ['a'], ...(minItems === 0 ? [[]] : [])];
      const fits = (text: string) => [...text].length <= (items?.maxLength ?? 0);
      for (const value of valid.filter((value) => value.length <= maxItems && value.every(fits))) {
        const written = await write.sendWith({ [name]: value.map((text) => ` ${text} `) });
        const read = await write.read(written.body);
        t.same([written.body[name], read.body[name]], [value, value], `${at}: ${JSON.stringify(value)}`);
      }
      for (const [value, place] of [
        ...lists.invalid,
        [texts, ''] as const,
        [[`${texts[0]}x`], '/0'] as const,
      ]) {
        t.same(
          fieldErrors(await write.sendWith({ [name]: value })),
          [`/${name}${place}`],
          `${at}: ${JSON.stringify(value)}`,
        );
      }
    }
  }
});

/** The first and the last values that a field has; an id of no row. */
function boundariesOf(field: Field): unknown[] {
  const { enum: words = [], format, pattern, minLength = 0, maxLength, minItems = 0, maxItems = 0 } = field;
  const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = field;
  const [, digits, scale] = /0-9\]\{0,(\d+)\}.*\{1,(\d+)\}/.exec(pattern ?? '') ?? [];
  const texts = (length: number) =>
    Array.from({ length }, (_, index) => String(index).padStart(field.items?.maxLength ?? 0, 'x'));
  const ofFormat: Record<string, unknown[]> = {
    uuid: [MISSING],
    'date-time': ['1970-01-01T00:00:00Z', '2199-12-31T23:59:59.999999Z'],
    date: ['1900-01-01', '2199-12-31'],
  };
  return [
    ...words,
    ...(ofFormat[format ?? ''] ?? []),
    ...(isInteger(field) ? [minimum, maximum] : []),
    ...(isArray(field) ? [texts(minItems), texts(maxItems)] : []),
    ...(digits === undefined ? [] : ['0', `${'9'.repeat(Number(digits) + 1)}.${'9'.repeat(Number(scale))}`]),
    ...(field['x-text'] === undefined ? [] : ['x'.repeat(minLength), 'x'.repeat(maxLength)]),
    ...(typesOf(field).includes('boolean') ? [true, false] : []),
    ...(isObject(field) ? [{}] : []),
    ...(typesOf(field).includes('null') ? [null] : []),
  ];
}

t.test(
  'the first and last values of every field are accepted, or refused with an error of their own',
  async (t) => {
    const wrong: unknown[] = [];
    for (const write of writes) {
      for (const [name, field] of Object.entries(write.fields)) {
        const boundaries = boundariesOf(field);
        t.ok(boundaries.length > 0, `${write.name} ${name}: say here which values are its first and last`);
        for (const value of boundaries) {
          // A 500, such as that of a check constraint without an error in errors.ts, is in no document, so it throws.
          const error = await write.sendWith({ [name]: value }).then(
            ({ status }) => (status < 500 ? undefined : status),
            ({ message }: Error) => message,
          );
          wrong.push(...(error === undefined ? [] : [{ write: write.name, [name]: value, error }]));
        }
      }
    }
    t.same(
      wrong,
      [],
      'a limit in schemas.ts for each check of the table, an error in errors.ts for each key',
    );
  },
);

t.test('all field errors of a body are reported at once: missing, unknown and wrong fields', async (t) => {
  for (const write of writes) {
    const wrong = Object.fromEntries(
      Object.entries(write.fields).map(([name, field]) => [name, isObject(field) ? [] : {}]),
    );
    const pointers = [...Object.keys(wrong).map((name) => `/${name}`), '/a~1b~0c', '/colour'].sort();
    const unknown = { colour: 'green', 'a/b~c': 1 };
    t.same(fieldErrors(await write.send({ ...wrong, ...unknown })), pointers, write.name);
    const missing = Object.fromEntries(write.required.map((name) => [name, undefined]));
    t.same(fieldErrors(await write.send({ ...wrong, ...missing, ...unknown })), pointers, write.name);
  }
  const { body } = await anna.post('/api/shifts', { title: '', capacity: '5', startsAt: null, x: 1 });
  t.match(
    body.errors.find(({ pointer }: { pointer: string }) => pointer === '/capacity'),
    {
      code: 'invalid_type',
      detail: 'This must be an integer.',
    },
  );
  t.equal(body.detail, 'The body does not have the expected form. `errors` lists each invalid field.');
});

t.test('an error lists all field errors, up to the first hundred', async (t) => {
  const unknown = (count: number) => Array.from({ length: count }, (_, index) => `f${index}`);
  for (const [sent, named] of [
    [1, 1],
    [99, 99],
    [100, 100],
    [101, 100],
    [9_000, 100],
  ] as const) {
    const names = Object.fromEntries(unknown(sent).map((name) => [name, 1]));
    const faults = fieldErrors(await anna.post('/api/tasks', { title: 'Mow', ...names }));
    t.same([faults.length, new Set(faults).size], [named, named], `${sent} unknown fields`);
  }
  t.equal(
    fieldErrors(await anna.get(`/api/tasks?${unknown(500).join('&')}`)).length,
    100,
    'unknown parameters',
  );
});

t.test('JSON that is not an object, or no body at all, is refused as a whole', async (t) => {
  const whole = [{ pointer: '', code: 'invalid_type', detail: 'The body must be a JSON object.' }];
  for (const write of writes) {
    await changesNothing(t, write.clubId, async () => {
      const texts = ['null', '[]', `[${JSON.stringify(write.least)}]`, '5', '"Mow"', 'true'];
      // A body without fields is optional.
      for (const text of [...texts, ...(Object.keys(write.fields).length > 0 ? ['', undefined] : [])]) {
        const { status, body } = await write.send(text);
        t.same([status, body.code, body.errors], [400, 'validation_failed', whole], `${write.name} ${text}`);
      }
    });
  }
});

t.test('of a repeated field one value counts, and it is checked like any other', async (t) => {
  const post = (text: string) => anna.post('/api/tasks', text);
  const last = await post('{"title":"First","title":"Last"}');
  t.ok(last.status === 400 || (last.status === 201 && ['First', 'Last'].includes(last.body.title)));
  await changesNothing(t, club, async () => {
    t.same(fieldErrors(await post('{"title":5,"title":[]}')), ['/title']);
    t.same(fieldErrors(await post('{"title":"First","nonsense":1,"nonsense":1}')), ['/nonsense']);
    t.same(fieldErrors(await post('{"title":"First","__proto__":1,"__proto__":{}}')), ['/__proto__']);
  });
});

t.test(
  'a change without fields takes an empty body or none, and refuses a field instead of ignoring it',
  async (t) => {
    const hasNoFields = (one: Endpoint) =>
      one.method !== 'GET' && Object.keys(bodySchemaOf(one).properties ?? {}).length === 0;
    for (const endpoint of endpoints.filter(hasNoFields)) {
      const { method, path } = endpoint;
      const at = `${method} ${path}: leave out \`body\` in its schema`;
      const { clubId, url, ids } = await makeClubFor(service, endpoint);
      const admin = service.as(MEMBER, 'Admin', clubId);
      // What is below a row is created by a request to the same path, or by the member of the row to that of `me`.
      const paths = [path, path.replace(':id', 'me')];
      for (const one of endpoints.filter(({ body }) => method === 'DELETE' && body !== undefined)) {
        if (paths.includes(one.path)) {
          await admin[one.method === 'POST' ? 'post' : 'put'](pathOf(one, ids), fit(one.body, ids));
        }
      }
      const headers = {
        authorization: `Bearer ${service.token({ sub: MEMBER, clubs: { [clubId]: 'Admin' } })}`,
        'x-tenant-id': clubId,
      };
      await changesNothing(t, clubId, async () => {
        for (const body of ['{"version":1}', '[]', 'null']) {
          const refused = await service.send(method, url, { headers, body });
          t.match(refused, { status: 400, body: { code: 'validation_failed' } }, `${at}: ${body}`);
        }
      });
      // Most tests send a DELETE without a body, and the example of the others is an empty object.
      const body = method === 'DELETE' ? '{}' : undefined;
      t.ok((await service.send(method, url, { headers, body })).status < 300, `${at}: ${body}`);
    }
  },
);

/** The name or value that each error suggests, by its place. */
const suggestions = ({ body }: Response) =>
  Object.fromEntries(
    (body.errors as Record<string, string>[]).map(({ pointer, parameter, detail = '' }) => [
      pointer ?? parameter,
      /Did you mean `([^`]+)`\?$/.exec(detail)?.[1],
    ]),
  );

t.test('the error of an unknown field or parameter suggests one whose name is similar', async (t) => {
  const meant = {
    starts_at: 'startsAt',
    'starts-at': 'startsAt',
    STARTSAT: 'startsAt',
    startAt: 'startsAt',
    start: undefined,
    ends_At: 'endsAt',
    titel: 'title',
    tites: undefined,
    Title: 'title',
    capcity: 'capacity',
    capasity: 'capacity',
    descripton: 'description',
    desc: undefined,
    x: undefined,
    nonsense: undefined,
    '': undefined,
    _: undefined,
    __proto__x: undefined,
    constructor: undefined,
    toString: undefined,
    ['title'.repeat(20)]: undefined,
  };
  const unknown = Object.fromEntries(Object.keys(meant).map((name) => [name, 1]));
  const response = await anna.post('/api/shifts', unknown);
  const required = ['capacity', 'endsAt', 'startsAt', 'title'].map((name) => [name, undefined]);
  const expected = [...required, ...Object.entries(meant)].map(([name, word]) => [`/${name}`, word]);
  t.strictSame(suggestions(response), Object.fromEntries(expected));
  t.strictSame(suggestions(await anna.get('/api/shifts?ot=1&Q=1&hasfreeslot=true&x=1')), {
    ot: 'to',
    Q: 'q',
    hasfreeslot: 'hasFreeSlots',
    x: undefined,
  });
  t.strictSame(suggestions(await anna.get('/api/clubs/current?title=1')), { title: undefined });
});

t.test('the detail of a problem with one field error gives its place and its detail', async (t) => {
  const partsOf = ({ body }: Response) => [body.errors, body.detail];
  const field = 'Unknown field. Did you mean `dueAt`?';
  t.same(partsOf(await anna.post('/api/tasks', { title: 'Mow', due_at: null })), [
    [{ pointer: '/due_at', code: 'unknown', detail: field }],
    `\`/due_at\`: ${field}`,
  ]);
  const parameter = 'Unknown parameter. Did you mean `hasFreeSlots`?';
  t.same(partsOf(await anna.get('/api/shifts?hasfreeslot=true')), [
    [{ parameter: 'hasfreeslot', code: 'unknown', detail: parameter }],
    `\`hasfreeslot\`: ${parameter}`,
  ]);
});

t.test(
  'the error of a value in the wrong letter case, or of a wrong sort, suggests the right one',
  async (t) => {
    for (const [query, expected] of Object.entries({
      'tasks?sort=created_at': 'createdAt',
      'tasks?sort=-CreatedAt': '-createdAt',
      'tasks?sort=-created_at': '-createdAt',
      'shifts?sort=start': undefined,
      'members?role=manager': 'Manager',
      'tasks?state=open': 'Open',
      'tasks?state=Open,inprogress': 'InProgress',
      'tasks?state=': undefined,
    })) {
      t.same(Object.values(suggestions(await anna.get(`/api/${query}`))), [expected], query);
    }
    const { errors } = (await anna.get('/api/shifts?hasFreeSlots=false')).body;
    t.match(errors, [{ code: 'invalid_value', detail: 'This must be true, or absent.' }]);
    const { detail } = (await anna.patch(`/api/tasks/${MISSING}`, { state: 'in_progress' })).body;
    t.equal(
      detail,
      '`/state`: This must be one of: Open, Assigned, InProgress, Review, Done. Did you mean `InProgress`?',
    );
  },
);

t.test('an error repeats what the caller sent only when it is short and plain', async (t) => {
  const names = ['a'.repeat(65), 'a b', 'a\u0000', 'a\nb', 'a`b', '<b>', '🎾', 'a'.repeat(100_000)];
  for (const name of names) {
    const { body } = await anna.post('/api/tasks', { title: 'Mow', [name]: 1 });
    t.same([body.errors.length, body.detail], [1, 'Unknown field.'], name.slice(0, 70));
  }
});

t.test(
  'the error of a repeated list parameter shows the form with commas, as the document does',
  async (t) => {
    const { status, body } = await anna.get('/api/tasks?state=Open&state=Assigned');
    const detail = 'This must be given once, with commas between its words: Open,Assigned.';
    t.same(
      [status, body.code, body.errors],
      [400, 'invalid_parameter', [{ parameter: 'state', code: 'invalid_type', detail }]],
    );
    t.equal((await anna.get('/api/tasks?state=Open,Assigned')).status, 200);
    const parameter = document.paths['/api/tasks']?.get?.parameters?.find(({ name }) => name === 'state');
    t.match(parameter, { style: 'form', explode: false, schema: { type: 'array' } });
  },
);
