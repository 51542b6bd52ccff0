import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import ICAL from 'ical.js';
import t from 'tap';
import { writeCalendar } from '../../src/calendar/icalendar.js';
import type { Calendar, CalendarShift } from '../../src/calendar/queries.js';
import { comparablePart } from '../setup/comparable.js';
import { MISSING } from '../setup/endpoints.js';
import { connectAsRuntime } from '../setup/runtime.js';
import type { Person } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { hoursFromNow, type ShiftRequest, shiftRequest, tally } from '../setup/shifts.js';

const LINK = '/api/members/me/calendar';
const DAY_MS = 86_400_000;
const service = await startService(t);
const { queryAsAdmin } = service.db;
const club = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const admin = service.as('adam', 'Admin', club);
const anna = service.as('anna', 'Member', club);
const ben = service.as('ben', 'Member', club);

const read = (url: string, headers: Record<string, string> = {}) => service.send('GET', url, { headers });
const makeLink = async (person: Person): Promise<string> => (await person.put(LINK)).body.url;
const refused = (code: string) => ({ status: 404, body: { code } });
const gone = refused('calendar_not_found');

/** Moves the link of a member: it ends this many milliseconds from now. @returns the times of its row */
async function endLinkIn(person: Person, ms: number): Promise<Record<string, string>> {
  const [link = {}] = await queryAsAdmin(
    `update app.calendar_links
     set created_at = now() + $2 - interval '400 days', expires_at = now() + $2 where member_id = $1
     returning id, to_char(created_at at time zone 'UTC', 'YYYYMMDD"T"HH24MISS"Z"') as created, expires_at`,
    [await person.memberId(), `${ms} milliseconds`],
  );
  return link;
}

/** Creates a shift and signs a member up. @returns its path */
async function signUp(person: Person, changes: Partial<ShiftRequest> = {}): Promise<string> {
  const path = String((await admin.post('/api/shifts', shiftRequest(changes))).headers.location);
  await person.post(`${path}/signup`);
  return path;
}

// RFC 7986 defines NAME as a text; the parser is older.
const { property } = ICAL.design.icalendar;
Object.assign(property, { name: property.summary, 'x-wr-calname': property.summary });

/** The events of a file, as another package reads them. */
function eventsIn(text: string): ICAL.Event[] {
  const file = new ICAL.Component(ICAL.parse(text));
  return file.getAllSubcomponents('vevent').map((event) => new ICAL.Event(event));
}

t.test(
  'a Member has one link; only its creation shows its URL, which ends at once with the link',
  async (t) => {
    t.match(await anna.get(LINK), gone);
    const made = await anna.put(LINK);
    t.match(made, { status: 201, headers: { location: LINK, 'cache-control': 'no-store' } });
    const { url, createdAt, expiresAt } = made.body;
    t.match(url, new RegExp(`^/calendars/${club}/[\\w-]{43}\\.ics$`));
    t.equal(Date.parse(expiresAt) - Date.parse(createdAt), 400 * DAY_MS);
    const [, secret = ''] = /([\w-]{43})\.ics$/.exec(url) ?? [];
    const stored = (await queryAsAdmin('select secret_hash from app.calendar_links')).map(
      (row) => row.secret_hash,
    );
    t.same(stored, [createHash('sha256').update(secret).digest()], 'the secret is stored as a hash');

    const replaced = await anna.put(LINK, {});
    t.match(replaced, { status: 200, headers: { location: undefined, 'cache-control': 'no-store' } });
    t.match(await read(url), gone);
    t.equal((await read(replaced.body.url)).status, 200);
    t.same((await anna.get(LINK)).body, { ...replaced.body, url: null });
    t.match(await ben.get(LINK), gone, 'the link of another member');
    t.match(await ben.delete(LINK), gone);

    t.equal((await anna.delete(LINK)).status, 204);
    t.match(await read(replaced.body.url), gone);
    for (const send of [anna.get, anna.delete]) {
      t.match(await send(LINK), gone);
    }
    const publicUrl = 'https://clubs.example.org';
    const known = await startService(t, { publicUrl });
    const there = await makeLink(known.as('anna', 'Member', await known.db.makeClub()));
    t.match(
      [there.slice(0, publicUrl.length), (await known.send('GET', new URL(there).pathname)).status],
      [publicUrl, 200],
    );
  },
);

t.test('an Admin deletes the link of any member; a missing member comes before a missing link', async (t) => {
  const bensId = await ben.memberId();
  const strangersId = await service.as('sam', 'Member', south).memberId();
  for (const id of [MISSING, strangersId]) {
    t.match(await admin.delete(`/api/members/${id}/calendar`), refused('member_not_found'));
  }
  t.match(await admin.delete(`/api/members/${bensId}/calendar`), gone);
  const url = await makeLink(ben);
  t.equal((await admin.delete(`/api/members/${bensId}/calendar`)).status, 204);
  t.match(await read(url), gone);
});

t.test('a link that has expired is gone for its member and an Admin, and is not replaced', async (t) => {
  const url = await makeLink(ben);
  await endLinkIn(ben, 60_000);
  t.equal((await read(url)).status, 200);
  await endLinkIn(ben, 0);
  for (const send of [ben.get, ben.delete]) {
    t.match(await send(LINK), gone);
  }
  t.match(await admin.delete(`/api/members/${await ben.memberId()}/calendar`), gone);
  t.match(await read(url), gone);
  t.equal((await ben.put(LINK)).status, 201);
});

t.test(
  'a link outlives the role of its member, who reads and deletes it as a Viewer, and creates none',
  async (t) => {
    const url = await makeLink(service.as('vera', 'Member', club));
    const vera = service.as('vera', 'Viewer', club);
    t.match(await vera.put(LINK), { status: 403, body: { code: 'insufficient_role' } });
    t.match(await vera.get(LINK), { status: 200, body: { url: null } });
    t.equal((await read(url)).status, 200);
    t.equal((await vera.delete(LINK)).status, 204);
    t.match(await vera.delete(LINK), gone);
    t.match(await read(url), gone);
  },
);

t.test(
  'every wrong link has one 404, alike to the byte; a link is the same in any spelling of its club',
  async (t) => {
    const [ended, expired, erased, closed] = ['dora', 'emil', 'fred', 'gina'].map((name) =>
      service.as(name, 'Member', name === 'gina' ? south : club),
    ) as [Person, Person, Person, Person];
    const wrong = [await makeLink(anna)];
    const url = await makeLink(anna);
    for (const person of [ended, expired, erased, closed]) {
      wrong.push(await makeLink(person));
    }
    const erasedId = await erased.memberId();
    t.same(tally(await Promise.all(wrong.map((link) => read(link)))), {
      200: 4,
      '404 calendar_not_found': 1,
    });
    await ended.delete(LINK);
    await endLinkIn(expired, 0);
    await queryAsAdmin('select app.erase_member($1, $2)', [club, erasedId]);
    await queryAsAdmin('select app.close_club($1)', [south]);

    const [, secret = ''] = /([\w-]{43})\.ics$/.exec(url) ?? [];
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const sameBytes = alphabet[alphabet.indexOf(secret.slice(-1)) + 1];
    for (const other of [
      `${secret.slice(0, -1)}${sameBytes}`,
      secret.slice(1),
      `${secret}=`,
      `x${secret}`,
      '',
      '%ff',
      '%zz',
    ]) {
      wrong.push(url.replace(secret, other));
    }
    for (const other of [MISSING, south, 'north', '', `{${club}}`, '%ff', 'x'.repeat(20_000)]) {
      wrong.push(url.replace(club, other));
    }
    wrong.push(
      url.replace('.ics', ''),
      url.replace('.ics', '.ICS'),
      `${url}/`,
      `${url}x`,
      `${url}%`,
      `/${url}`,
    );
    wrong.push(
      '/calendars/',
      url.toUpperCase(),
      url.replace('/cal', '/%63al').slice(0, -1),
      url.replace('/cal', '/%2563al'),
      url.replace('/cal', `/%${'25'.repeat(5_000)}63al`),
      `${url.replace('/cal', '/%63al')}%`,
    );
    const sample = await read(`${url}x`);
    t.match(sample, { ...gone, body: { instance: '/calendars' } });
    const expected = comparablePart(sample, MISSING);
    for (const link of wrong) {
      t.same(comparablePart(await read(link), MISSING), expected, link.slice(0, 200));
      const { status, headers } = comparablePart(await service.send('HEAD', link), MISSING);
      t.same({ ...expected, status, headers }, expected, link.slice(0, 200));
    }
    for (const link of [url.replace(club, club.toUpperCase()), url.replace('/cal', '/%63al')]) {
      t.equal((await read(link)).status, 200, link);
    }
  },
);

t.test('a calendar has an ETag of its text, which If-None-Match compares; a query is ignored', async (t) => {
  const url = await makeLink(ben);
  const get = await read(url);
  const { etag } = get.headers as { etag: string };
  const cached = { etag, 'cache-control': 'private, max-age=900' };
  t.match(get, { status: 200, headers: { ...cached, 'content-type': 'text/calendar; charset=utf-8' } });
  const head = await service.send('HEAD', url);
  t.same(
    [head.status, comparablePart(head, MISSING).headers, head.text],
    [200, comparablePart(get, MISSING).headers, ''],
  );
  for (const query of ['?', '?a=b', '?%zz', '?a=%ff', '?%']) {
    t.same((await read(`${url}${query}`)).text, get.text, query);
  }
  for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    for (const method of ['GET', 'HEAD'] as const) {
      const same = await service.send(method, url, { headers: { 'if-none-match': tags } });
      t.match(same, { status: 304, headers: cached, text: '' }, tags);
    }
  }
  for (const tags of ['"other"', etag.replaceAll('"', ''), '']) {
    t.equal((await read(url, { 'if-none-match': tags })).status, 200, tags);
  }
  await signUp(ben);
  const changed = await read(url, { 'if-none-match': etag });
  t.equal(changed.status, 200);
  t.not(changed.headers.etag, etag);
});

const stampOf = (time: string) => `${time.slice(0, 19).replaceAll(/[-:]/g, '')}Z`;

t.test(
  'the file has the club’s name and each shift of the member; a UID is kept, and SEQUENCE rises',
  async (t) => {
    await queryAsAdmin('update app.clubs set name = $2 where id = $1', [club, 'Rowing; "North", \\']);
    const nora = service.as('nora', 'Member', club);
    const url = await makeLink(nora);
    await signUp(ben);
    const times = { startsAt: '2099-06-01T20:00:00+02:00', endsAt: '2099-06-01T22:30:00.25+02:00' };
    const texts = { title: 'Bar; 1, 2', location: 'A\\B', description: 'One\nTwo: "3"' };
    const path = await signUp(nora, { ...texts, ...times });
    const file = async (own: string[]) => {
      const { id, version, updatedAt } = (await admin.get(path)).body;
      return [
        'BEGIN:VCALENDAR',
        'VERSION:2.0',
        'PRODID:-//Club Management Service//Shifts//EN',
        'NAME:Rowing\\; "North"\\, \\\\',
        'X-WR-CALNAME:Rowing\\; "North"\\, \\\\',
        'REFRESH-INTERVAL;VALUE=DURATION:PT1H',
        'X-PUBLISHED-TTL:PT1H',
        'BEGIN:VEVENT',
        `UID:${id}`,
        `SEQUENCE:${version - 1}`,
        `DTSTAMP:${stampOf(updatedAt)}`,
        'DTSTART:20990601T180000Z',
        'DTEND:20990601T203000Z',
        ...own,
        `LAST-MODIFIED:${stampOf(updatedAt)}`,
        'END:VEVENT',
        'END:VCALENDAR',
        '',
      ].join('\r\n');
    };
    const { text } = await read(url);
    t.equal(text, await file(['SUMMARY:Bar\\; 1\\, 2', 'LOCATION:A\\\\B', 'DESCRIPTION:One\\nTwo: "3"']));
    t.match(text, 'SEQUENCE:0');
    await nora.delete(`${path}/signup`);
    t.same(eventsIn((await read(url)).text), []);
    await nora.post(`${path}/signup`);
    t.equal((await read(url)).text, text);
    await admin.put(path, { title: 'Bar', capacity: 2, ...times });
    t.equal((await read(url)).text, await file(['SUMMARY:Bar']));
    t.match((await read(url)).text, 'SEQUENCE:1');
    const short = { startsAt: '2099-06-01T18:00:00.1Z', endsAt: '2099-06-01T18:00:00.9Z' };
    await admin.put(path, { title: 'Bar', capacity: 2, ...short });
    t.match((await read(url)).text, 'DTSTART:20990601T180000Z\r\nDTEND:20990601T180001Z\r\n');
  },
);

t.test(
  'the file has up to 1,000 shifts of the member: those to come by start, then those that ended last',
  async (t) => {
    const many = await service.db.makeClub('many');
    const manager = service.as('mara', 'Manager', many);
    const nora = service.as('nora', 'Member', many);
    const url = await makeLink(nora);
    const rule = {
      capacity: 1,
      startsAtLocal: '2098-01-01T19:00',
      endsAtLocal: '2098-01-01T21:00',
      every: 'day',
    };
    for (const title of ['Bar', 'Kitchen', 'Boats']) {
      await manager.post('/api/shifts/batch', { repeat: { ...rule, title, until: '2098-10-27' } });
    }
    const past = Array.from({ length: 150 }, (_, hours) => ({
      title: `Past ${hours}`,
      description: '🎾'.repeat(hours === 0 ? 1_001 : 1_000 * Number(hours === 1)),
      startsAt: hoursFromNow(-3 - hours),
      endsAt: hoursFromNow(-2 - hours),
      capacity: 1,
    }));
    await manager.post('/api/shifts/batch', { shifts: past });
    const session = await connectAsRuntime(t, service.db);
    const caller = { clubId: many, subject: 'nora', role: 'Member' } as const;
    await session.run(caller, 'select app.sign_up(id) from app.shifts where starts_at > now()');
    // By SQL, because the service refuses a signup for a shift that has started; without triggers, which need a caller.
    await queryAsAdmin(
      `set session_replication_role = replica;
       insert into app.shift_signups (tenant_id, id, shift_id, member_id, created_by_id)
       select tenant_id, app.new_id(), id, '${await nora.memberId()}', null
       from app.shifts where tenant_id = '${many}' and starts_at < now();
       reset session_replication_role`,
    );
    const events = eventsIn((await read(url)).text);
    t.equal(events.length, 1_000);
    t.equal(new Set(events.map(({ uid }) => uid)).size, 1_000);
    const ended = events.slice(0, 100);
    t.same(
      ended.map(({ summary }) => summary),
      past
        .slice(0, 100)
        .map(({ title }) => title)
        .reverse(),
      'all 900 to come, and those that ended last',
    );
    t.same(
      ended.slice(-2).map(({ description }) => description),
      ['🎾'.repeat(1_000), `${'🎾'.repeat(1_000)}…`],
      'a description is cut after 1,000 characters',
    );
  },
);

t.test('in its last 30 days a link has an event of its last day, in the time zone of the club', async (t) => {
  const url = await makeLink(ben);
  for (const zone of ['Pacific/Kiritimati', 'Pacific/Niue']) {
    await queryAsAdmin('update app.clubs set time_zone = $2 where id = $1', [club, zone]);
    await endLinkIn(ben, 30 * DAY_MS + 3_600_000);
    t.notMatch((await read(url)).text, 'VALUE=DATE');
    // Among these, the local date is another one than the date in UTC.
    for (const days of [30, 15, 7.5, 7, 0.5, 0.01]) {
      const { id, created, expires_at: expires } = await endLinkIn(ben, days * DAY_MS);
      const { text } = await read(url);
      const day = new Intl.DateTimeFormat('sv', { timeZone: zone }).format(new Date(String(expires)));
      const notice = eventsIn(text).find(({ uid }) => uid === id);
      t.same(
        [notice?.startDate.isDate, String(notice?.startDate), notice?.duration.days],
        [true, day, 1],
        `${zone} ${days}`,
      );
      t.match(text, `UID:${id}\r\nSEQUENCE:0\r\nDTSTAMP:${created}\r\n`);
      t.match(notice?.summary, /link ends/);
    }
  }
});

const shift: CalendarShift = {
  ...{ id: MISSING, version: 1, updatedAt: '2026-05-01T07:15:00.123456Z' },
  ...{ startsAt: '2026-05-01T16:00:00Z', endsAt: '2026-05-01T18:00:00Z' },
  ...{ title: 'Bar', location: null, description: null },
};
const calendar: Calendar = {
  ...{
    linkId: club,
    createdAt: '2026-04-01T00:00:00Z',
    expiresAt: '2027-05-06T00:00:00Z',
    expiresOn: '2027-05-06',
  },
  ...{ clubName: 'North', shifts: [shift] },
};

t.test(
  'any text is read again as it was written, in lines of at most 75 octets that end with CRLF',
  async (t) => {
    const special = fc.constantFrom(
      '\\',
      ';',
      ',',
      ':',
      '"',
      '\\n',
      ' ',
      'é',
      '🎾',
      '👩‍👩‍👧',
      'e\u0301',
      'שלום',
      '\u2028',
      '\u2029',
    );
    const unit = fc.oneof(special, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }));
    const line = fc.string({ unit, minLength: 1, maxLength: 200 });
    const block = fc.string({
      unit: fc.oneof(unit, fc.constantFrom('\n', '\t')),
      minLength: 1,
      maxLength: 400,
    });
    const withLineFeeds = (text: string) => text.replaceAll(/[\u2028\u2029]/g, '\n');
    const check = async (clubName: string, title: string, location: string, description: string) => {
      const text = await writeCalendar({
        ...calendar,
        clubName,
        shifts: [{ ...shift, title, location, description }],
      });
      t.ok(text.endsWith('END:VCALENDAR\r\n'));
      const lines = text.split('\r\n');
      t.same(
        lines.filter((one) => /[\r\n]/.test(one) || Buffer.byteLength(one) > 75),
        [],
      );
      const [event] = eventsIn(text);
      t.same(
        [event?.summary, event?.location, event?.description],
        [title, location, description].map(withLineFeeds),
      );
      const file = new ICAL.Component(ICAL.parse(text));
      t.same(
        ['name', 'x-wr-calname'].map((name) => file.getFirstPropertyValue(name)),
        [withLineFeeds(clubName), withLineFeeds(clubName)],
      );
    };
    await fc.assert(fc.asyncProperty(block, line, line, block, check), { numRuns: 300, seed: 1 });
    await check('North', 'x'.repeat(200), '🎾'.repeat(200), 'é🎾,\n'.repeat(2_500));

    const { TZ } = process.env;
    const written = await writeCalendar(calendar, Date.parse(calendar.expiresAt));
    t.match(written, /DTSTAMP:20260501T071500Z\r\nDTSTART:20260501T160000Z.*VALUE=DATE:20270506/s);
    process.env.TZ = 'America/St_Johns';
    t.not(new Date(calendar.createdAt).getTimezoneOffset(), 0);
    t.equal(
      await writeCalendar(calendar, Date.parse(calendar.expiresAt)),
      written,
      'in any time zone of the process',
    );
    if (TZ === undefined) {
      delete process.env.TZ;
    } else {
      process.env.TZ = TZ;
    }
  },
);

t.test('while a calendar of many shifts is written, other requests have their turn', async (t) => {
  let isWritten = false;
  const written = writeCalendar({
    ...calendar,
    shifts: Array(1_000).fill({ ...shift, description: 'x'.repeat(10_000) }),
  }).then(() => {
    isWritten = true;
  });
  let turns = 0;
  for (; !isWritten; turns += 1) {
    await setImmediate();
  }
  await written;
  t.ok(turns > 2, `${turns} turns`);
});
