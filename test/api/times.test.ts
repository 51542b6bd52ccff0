import t from 'tap';
import { CalendarDate } from '../../src/validation/schemas.js';
import { document } from '../setup/endpoints.js';
import { errorOf, type Field, fieldErrors, fieldsWhere, type Write, writesOf } from '../setup/fields.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const club = await service.db.makeClub('north');
const anna = service.as('anna', 'Admin', club);
const writes = await writesOf(service);

const isTime = ({ format }: Field) => format === 'date-time';
const timesIn = (write: Write) => fieldsWhere(write, isTime).map(([name]) => name);
const writesOfTimes = writes.filter((write) => timesIn(write).length > 0);
const parameters = Object.entries(document.paths).flatMap(([path, { get }]) =>
  (get?.parameters ?? []).flatMap(({ name, schema }) =>
    isTime(schema as unknown as Field) ? [{ path, name }] : [],
  ),
);

/** Times in a request, with their values in a response: in UTC, cut to microseconds. */
const valid: Record<string, string> = {
  '2031-05-01T18:00:00Z': '2031-05-01T18:00:00Z',
  '2031-05-01t18:00:00z': '2031-05-01T18:00:00Z',
  '2032-02-29T00:00:00Z': '2032-02-29T00:00:00Z',
  '2031-05-01T18:00:00.1234567+02:00': '2031-05-01T16:00:00.123456Z',
  '2031-05-01T00:30:00.5-01:00': '2031-05-01T01:30:00.5Z',
  '1970-01-01T00:00:00Z': '1970-01-01T00:00:00Z',
  '1970-01-01T01:00:00+01:00': '1970-01-01T00:00:00Z',
  '2199-12-31T22:59:59-01:00': '2199-12-31T23:59:59Z',
  '2199-12-31T23:59:59.9999989Z': '2199-12-31T23:59:59.999998Z',
};

const invalid = [
  '',
  'tomorrow',
  'infinity',
  '2031-05-01',
  '2031-05-01 at ten',
  '2031-05-01T18:00:00',
  '2031-02-29T00:00:00Z',
  '2026-02-30T18:00:00Z',
  '2031-13-01T10:00:00Z',
  '2026-05-01T24:00:00Z',
  '2031-03-01T10:00:00+24:00',
  '2031-03-01T10:00:00+01:60',
  '2016-12-31T23:59:60Z',
  '0000-01-01T00:00:00Z',
  '1969-12-31T23:59:59Z',
  '1969-12-31T23:59:59.999999Z',
  '1969-12-31T23:30:00-01:00',
  '1970-01-01T00:30:00+01:00',
  '1970-01-01T00:59:59.999999+01:00',
  '2199-12-31T23:00:00-01:00',
  '2199-12-31T23:59:59-01:00',
  '2200-01-01T00:00:00Z',
  '2200-01-01T00:30:00+01:00',
];

/** The number of trailing zeros of a fraction is not promised. */
const withMicroseconds = (time: string) =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/.test(time)
    ? time.slice(0, 19) + time.slice(20, -1).padEnd(6, '0')
    : `${time} is not in UTC`;

t.test(
  'a time in a body is RFC 3339 with an offset, in the years 1970 to 2199 as written and in UTC, and is returned in UTC, cut to microseconds',
  async (t) => {
    t.ok(writesOfTimes.length >= 4);
    for (const write of writesOfTimes) {
      const times = timesIn(write);
      const [needed, optional] = [true, false].map((isNeeded) =>
        times.filter((name) => write.required.includes(name) === isNeeded),
      ) as [string[], string[]];
      const none = Object.fromEntries(optional.map((name) => [name, null]));
      const check = async (fields: object, expected: Record<string, string>, title: string) => {
        const written = await write.sendWith({ ...none, ...fields });
        t.same(fieldErrors(written), [write.method === 'POST' ? '201' : '200'], `${write.name}: ${title}`);
        for (const { body } of [written, await write.read(written.body)]) {
          for (const [name, time] of Object.entries(expected)) {
            t.equal(withMicroseconds(body[name]), withMicroseconds(time), `${write.name} ${name}: ${title}`);
          }
        }
      };
      const [first, ...others] = needed;
      for (const [time, utc] of first === undefined ? [] : Object.entries(valid)) {
        // A later field is a moment later, because a period does not end at its begin.
        const later = `${utc.slice(0, 19)}.9999999Z`;
        const rest = Object.fromEntries(others.map((name) => [name, later]));
        const cut = Object.fromEntries(others.map((name) => [name, later.replace('9Z', 'Z')]));
        await check({ [first as string]: time, ...rest }, { [first as string]: utc, ...cut }, time);
      }
      // The others alone, before the last moments: a limit is before the start.
      const last = Object.fromEntries(
        needed.map((name, index) => [name, `2199-12-31T23:59:59.${999_999 - needed.length + 1 + index}Z`]),
      );
      for (const name of optional) {
        for (const [time, utc] of Object.entries(valid)) {
          if (!Object.values(last).includes(utc)) {
            await check({ ...last, [name]: time }, { [name]: utc }, time);
          }
        }
      }
      for (const time of invalid) {
        for (const name of times) {
          t.same(
            fieldErrors(await write.sendWith({ [name]: time })),
            [`/${name}`],
            `${write.name} ${name}: ${time}`,
          );
        }
      }
    }
  },
);

t.test('a filter by time takes the times that a body takes', async (t) => {
  t.ok(parameters.length >= 4);
  for (const { path, name } of parameters) {
    const read = (time: string) => anna.get(`${path}?${name}=${time}`);
    for (const time of Object.keys(valid)) {
      t.equal((await read(encodeURIComponent(time))).status, 200, `${path}?${name}=${time}`);
    }
    for (const time of invalid) {
      t.same(fieldErrors(await read(encodeURIComponent(time))), [name], `${path}?${name}=${time}`);
    }
  }
});

t.test('the error of an unencoded + in a filter by time shows how to write it', async (t) => {
  for (const { path, name } of parameters) {
    const detailOf = async (time: string) =>
      (await anna.get(`${path}?${name}=${time}`)).body.errors?.[0].detail;
    t.match(await detailOf('2031-05-01T18:00:00+02:00'), 'In a URL the + of an offset is written as %2B.');
    t.notMatch(await detailOf('2031-05-01T18:00:00'), '%2B');
    t.equal(await detailOf('2031-05-01T18:00:00%2B02:00'), undefined);
  }
});

const days = {
  valid: ['1900-01-01', '2024-02-29', '2199-12-31'],
  invalid: [
    '', ' ', '2026-1-1', '2026-01-01T00:00:00Z', '2023-02-29', '2026-13-01', '2026-04-31', '1899-12-31', '2200-01-01',
  ], // biome-ignore format: a list
};

t.test('a day is in the calendar, in the years 1900 to 2199', async (t) => {
  for (const day of days.valid) {
    t.equal(errorOf(CalendarDate(), day), undefined, day);
  }
  for (const day of days.invalid) {
    t.match(errorOf(CalendarDate(), day), /^`\/field`: This must be a day of the calendar/, day);
  }
  for (const write of writes) {
    for (const [name] of fieldsWhere(write, ({ format }) => format === 'date')) {
      for (const day of days.valid) {
        t.equal((await write.sendWith({ [name]: day })).body[name], day, `${write.name} ${name}`);
      }
      for (const day of days.invalid) {
        t.same(fieldErrors(await write.sendWith({ [name]: day })), [`/${name}`], `${write.name}: ${day}`);
      }
    }
  }
});
