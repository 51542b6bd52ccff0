import t from 'tap';
import { type Response, sendLinesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';

const service = await startService(t);
const sendLines = await sendLinesTo(service.app);
const club = await service.db.makeClub('north');
const admin = service.as('anna', 'Admin', club);
const lines: [string, string][] = [
  ['authorization', `Bearer ${service.token({ sub: 'anna', clubs: { [club]: 'Admin' } })}`],
  ['x-tenant-id', club],
  ['content-type', 'application/json'],
];
const task = (await admin.post('/api/tasks', { title: 'Mow' })).body;
const shift = (await admin.post('/api/shifts', shiftRequest())).body;

/** Every route that reads a body. */
const routes = [
  ['POST', '/api/tasks'],
  ['PATCH', `/api/tasks/${task.id}`],
  ['POST', '/api/shifts'],
  ['PUT', `/api/shifts/${shift.id}`],
  ['POST', `/api/shifts/${shift.id}/signup`],
] as const;

/** Processor time: far more than any of these documents takes, and far less than a backtracking regular expression. */
const LONG_MS = 10_000;
/** An answer may repeat what was sent, and little else. */
const BOUND_BYTES = 300_000;

const codeOf = ({ status, body }: Response) => `${status} ${body?.code}`;

/** Sends a document to every route; returns the wrong answers. */
async function sendAll(document: string | Buffer, allowed: string[]): Promise<unknown[]> {
  const wrong: unknown[] = [];
  for (const [method, path] of routes) {
    const began = process.cpuUsage();
    const answer = await sendLines(method, path, lines, document);
    const { user, system } = process.cpuUsage(began);
    const ms = (user + system) / 1_000;
    if (!allowed.includes(codeOf(answer)) || ms > LONG_MS || answer.text.length > BOUND_BYTES) {
      wrong.push({ method, path, said: codeOf(answer), ms, size: answer.text.length });
    }
    if (/\n\s+at |RangeError|Maximum call|position \d|Unexpected token/.test(answer.text)) {
      wrong.push(answer.text.slice(0, 500));
    }
  }
  return wrong;
}

const stored = () => service.db.queryAsAdmin('select * from app.tasks order by id');
const before = await stored();

t.test('a document of any depth is refused, in bounded time', async (t) => {
  const arrays = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  const objects = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  for (const deep of [
    arrays,
    objects,
    `{"title":${arrays}}`,
    `{"title":${objects}}`,
    `{"title":"a","nonsense":${arrays}}`,
    `{"__proto__":${objects}}`,
    '['.repeat(120_000),
    '{"a":'.repeat(20_000),
  ]) {
    // The engine decides how deep JSON can be parsed; deeper JSON is malformed.
    t.same(await sendAll(deep, ['400 validation_failed', '400 malformed_json']), [], deep.slice(0, 40));
  }
});

t.test('a document of any breadth is refused, in bounded time and at bounded length', async (t) => {
  const many = (count: number, member: (index: number) => string) =>
    `{${Array.from({ length: count }, (_, index) => member(index)).join()}}`;
  for (const wide of [
    `[${'1,'.repeat(60_000)}1]`,
    `{"title":[${'0,'.repeat(60_000)}0]}`,
    `{"title":[${'{},'.repeat(40_000)}{}]}`,
    many(10_000, (index) => `"f${index}":1`),
    many(15_000, (index) => `"${index.toString(36)}":0`),
    many(1_000, (index) => `"${'~/'.repeat(50)}${index}":0`),
    `{"${'k'.repeat(130_000)}":1}`,
    `{"${'~/'.repeat(65_000)}":1}`,
    `{"title":"${' '.repeat(130_000)}"}`,
    `{"title":"${' a'.repeat(65_000)}"}`,
    `{"dueAt":"${'2'.repeat(130_000)}"}`,
    `{"dueAt":"2026-05-01T18:00:00.${'1'.repeat(130_000)}"}`,
    `{"startsAt":"2026-05-01T18:00:00.${'1'.repeat(60_000)}","endsAt":"${'-'.repeat(60_000)}"}`,
    `{"assigneeId":"${'0-'.repeat(65_000)}"}`,
    `{"title":"${'\\ud800'.repeat(20_000)}"}`,
  ]) {
    t.same(await sendAll(wide, ['400 validation_failed']), [], wide.slice(0, 40));
  }
});

t.test('an error names all faults, up to the first hundred', async (t) => {
  const unknown = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, index]));
  for (const [sent, named] of [
    [1, 1],
    [99, 99],
    [100, 100],
    [101, 100],
    [9_000, 100],
  ] as const) {
    const { status, body } = await admin.post('/api/tasks', { title: 'Mow', ...unknown(sent) });
    t.same([status, body.errors.length], [400, named], `${sent} unknown fields`);
    t.equal(new Set(body.errors.map(({ pointer }: { pointer: string }) => pointer)).size, named);
  }
  const query = Object.keys(unknown(500)).join('&');
  const { status, body } = await admin.get(`/api/tasks?${query}`);
  t.same([status, body.errors.length], [400, 100], 'unknown parameters');
});

t.test('a number is an integer within its bounds, however it is written', async (t) => {
  const { startsAt, endsAt } = shift;
  const put = (capacity: string, version = '') =>
    sendLines(
      'PUT',
      `/api/shifts/${shift.id}`,
      lines,
      `{"title":"Bar","startsAt":"${startsAt}","endsAt":"${endsAt}","capacity":${capacity}${version}}`,
    );
  const refused = [
    '1e400', '-1e400', '1e-400', '-0', '0', '0.5', '1.0000001', '10000.5', '10001', '1e5', '9007199254740993',
    '2147483648', '18446744073709551616', '1e21', '-1', `1${'0'.repeat(400)}`, '"5"', '[5]', '{}', 'true', 'null',
  ]; // biome-ignore format: a list
  for (const number of refused) {
    const answer = await put(number);
    t.same(
      [codeOf(answer), answer.body.errors?.[0]?.pointer],
      ['400 validation_failed', '/capacity'],
      number,
    );
  }
  for (const version of refused.filter((number) => !['10001', '1e5'].includes(number))) {
    for (const answer of [
      await put('5', `,"version":${version}`),
      await sendLines('PATCH', `/api/tasks/${task.id}`, lines, `{"version":${version}}`),
    ]) {
      t.same(
        [codeOf(answer), answer.body.errors?.[0]?.pointer],
        ['400 validation_failed', '/version'],
        version,
      );
    }
  }
  for (const text of ['05', '+5', '0x5', '.5', '5.', '5_0', '5n', 'Infinity', 'NaN', '-']) {
    t.equal(codeOf(await put(text)), '400 malformed_json', text);
  }
  // JSON has one kind of number, so these are whole ones.
  for (const [text, capacity] of [
    ['7.0', 7],
    ['8e0', 8],
    ['1E4', 10_000],
    ['0.9e1', 9],
  ] as const) {
    const answer = await put(text);
    t.same([answer.status, answer.body.capacity], [200, capacity], text);
  }
});

t.test('a body in another encoding, or not in JSON, is malformed', async (t) => {
  const good = '{"title":"Mow"}';
  const swapped = Buffer.from(good, 'utf16le').swap16();
  for (const document of [
    Buffer.from(`\ufeff${good}`, 'utf16le'),
    Buffer.from(good, 'utf16le'),
    swapped,
    Buffer.concat([Buffer.from([0xfe, 0xff]), swapped]),
    Buffer.from(`${good}\u0000`),
    Buffer.from([0x1f, 0x8b, 8, 0]),
    Buffer.from([0, 0, 0, 0]),
    `// Mow\n${good}`,
    `/* Mow */${good}`,
    '{"title":"Mow" /* it */}', '{"title":"Mow"} // it', '# Mow', "{'title':'Mow'}", 'title: Mow', 'title=Mow',
    '<task/>', ')]}\',\n{"title":"Mow"}', `${good}\n${good}`, '\u00a0{"title":"Mow"}',
  ]) {
    t.same(await sendAll(document, ['400 malformed_json']), [], String(document).slice(0, 40));
  } // biome-ignore format: a list
});

t.test('of a repeated field one value counts, and it is checked like any other', async (t) => {
  const post = (text: string) => sendLines('POST', '/api/tasks', lines, text);
  const last = await post('{"title":"First","title":"Last"}');
  t.ok(last.status === 400 || (last.status === 201 && ['First', 'Last'].includes(last.body.title)));
  t.equal(codeOf(await post('{"title":5,"title":[]}')), '400 validation_failed');
  t.equal(codeOf(await post('{"title":"First","nonsense":1,"nonsense":1}')), '400 validation_failed');
  t.equal(codeOf(await post('{"title":"First","__proto__":1,"__proto__":{}}')), '400 validation_failed');
  t.match(await stored(), before, 'nothing else was created');
});
