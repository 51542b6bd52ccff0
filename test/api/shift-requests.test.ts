import t, { type Test } from 'tap';
import type { Response } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const manager = service.as('mara', 'Manager', north);
const { id: shiftId } = (await manager.post('/api/shifts', shiftRequest())).body;

/** A new and a changed shift have the same rules. */
const writes: [name: string, write: (body: unknown) => Promise<Response>, success: number][] = [
  ['POST', (body) => manager.post('/api/shifts', body), 201],
  ['PUT', (body) => manager.put(`/api/shifts/${shiftId}`, body), 200],
];

/** The sorted pointers of the faults that have a code and a detail. */
function pointersOf({ body }: Response): string[] {
  return (body.errors as { pointer: string; code: string; detail: string }[])
    .filter(({ code, detail }) => /^[a-z_]+$/.test(code) && detail.length > 10)
    .map(({ pointer }) => pointer)
    .sort();
}

for (const [method, write, success] of writes) {
  const accepts = async (t: Test, difference: Record<string, unknown>, written = difference) => {
    const { status, body } = await write({ ...shiftRequest(), ...difference });
    const title = JSON.stringify(difference).slice(0, 200);
    t.equal(status, success, title);
    t.strictSame(
      Object.fromEntries(Object.keys(written).map((field) => [field, body[field]])),
      written,
      title,
    );
  };
  const refuses = async (t: Test, difference: Record<string, unknown>, ...pointers: string[]) => {
    const answer = await write({ ...shiftRequest(), ...difference });
    const title = JSON.stringify(difference).slice(0, 200);
    t.match(answer, { status: 400, body: { code: 'validation_failed', errors: [] } }, title);
    t.same(pointersOf(answer), pointers, title);
  };

  t.test(`${method}: a shift ends after it starts, to the microsecond`, async (t) => {
    const startsAt = '2031-03-01T10:00:00.999999Z';
    for (const endsAt of ['2031-03-01T10:00:01Z', '2031-03-01T12:00:01+02:00', '2031-03-02T09:00:00Z']) {
      await accepts(t, { startsAt, endsAt }, { startsAt });
    }
    for (const endsAt of [
      startsAt,
      // The seventh digit is truncated, so this is the same time.
      '2031-03-01T10:00:00.9999999Z',
      '2031-03-01T10:00:00.999998Z',
      '2031-03-01T11:00:00.999998+01:00',
      '2031-02-28T10:00:00Z',
    ]) {
      await refuses(t, { startsAt, endsAt }, '/endsAt');
    }
  });

  t.test(`${method}: a shift ends at most 31 days after it starts, to the microsecond`, async (t) => {
    // March has 31 days.
    for (const [startsAt, endsAt, late] of [
      ['2031-03-01T10:00:00Z', '2031-04-01T10:00:00Z', '2031-04-01T10:00:00.000001Z'],
      ['2031-03-01T10:00:00.000500Z', '2031-04-01T10:00:00.000500Z', '2031-04-01T10:00:00.000501Z'],
      ['2031-03-01T10:00:00.123456Z', '2031-04-01T10:00:00.1234569Z', '2031-04-01T10:00:00.124Z'],
      ['2031-03-01T10:00:00Z', '2031-04-01T12:00:00+02:00', '2031-04-01T10:00:00-00:01'],
    ] as const) {
      await accepts(t, { startsAt, endsAt }, {});
      await refuses(t, { startsAt, endsAt: late }, '/endsAt');
    }
  });

  t.test(`${method}: times are RFC 3339 with an offset, in the years 1970 to 2199`, async (t) => {
    await accepts(t, { startsAt: '1970-01-01T00:00:00Z', endsAt: '1970-01-01T00:00:00.000001Z' }, {});
    await accepts(t, { startsAt: '2199-12-31T23:59:59Z', endsAt: '2199-12-31T23:59:59.999999Z' }, {});
    await accepts(t, { startsAt: '2032-02-29T00:00:00Z', endsAt: '2032-02-29T01:00:00Z' }, {});
    for (const time of [
      '2031-03-01T10:00:00',
      '2031-03-01',
      '2031-03-01 at ten',
      '2031-02-29T10:00:00Z',
      '2031-13-01T10:00:00Z',
      '2031-03-01T24:00:00Z',
      '2030-12-31T23:59:60Z',
      '2031-03-01T10:00:00+24:00',
      '1969-12-31T23:59:59.999999Z',
      '2200-01-01T00:00:00Z',
      '2199-12-31T23:59:59-01:00',
      '0000-01-01T00:00:00Z',
      'infinity',
      '',
      1_930_000_000,
      null,
    ]) {
      await refuses(t, { startsAt: time }, '/startsAt');
      await refuses(t, { endsAt: time }, '/endsAt');
    }
  });

  t.test(`${method}: the capacity is a whole number from 1 to 10,000`, async (t) => {
    for (const capacity of [1, 2, 10_000]) {
      await accepts(t, { capacity });
    }
    for (const capacity of [0, -1, 10_001, 2 ** 31, 1e300, 1.5, '5', '', true, null, [5], {}]) {
      await refuses(t, { capacity }, '/capacity');
    }
  });

  t.test(`${method}: text is trimmed, then counted in code points`, async (t) => {
    const limits = { title: 200, location: 200, description: 10_000 };
    for (const [field, limit] of Object.entries(limits)) {
      for (const text of ['x'.repeat(limit), '🎉'.repeat(limit)]) {
        await accepts(t, { [field]: `  ${text} \n` }, { [field]: text });
        await refuses(t, { [field]: `${text}x` }, `/${field}`);
      }
      await refuses(t, { [field]: 5 }, `/${field}`);
    }
    for (const title of ['', '  \n ', null]) {
      await refuses(t, { title }, '/title');
    }
    for (const field of ['location', 'description']) {
      await accepts(t, { [field]: null });
    }
  });

  t.test(
    `${method}: only descriptions accept line feeds and tabs, and no field other controls`,
    async (t) => {
      await accepts(t, { description: 'one\n\ttwo' });
      for (const field of ['title', 'location', 'description']) {
        await accepts(t, { [field]: `Zoë’s “bar” 🎉 & <b>;'--` });
        for (const bad of ['\u0000', '\u0007', '\r', '\u007f', '\u0085', '\ud800', '\udc00\ud800']) {
          await refuses(t, { [field]: `a${bad}b` }, `/${field}`);
        }
        if (field !== 'description') {
          await refuses(t, { [field]: 'one\ntwo' }, `/${field}`);
          await refuses(t, { [field]: 'one\ttwo' }, `/${field}`);
        }
      }
    },
  );

  t.test(`${method}: all faults are reported at once, each at its missing or unknown field`, async (t) => {
    const nothing = await write({});
    t.match(nothing, { status: 400, body: { code: 'validation_failed' } });
    t.same(pointersOf(nothing), ['/capacity', '/endsAt', '/startsAt', '/title']);

    const { endsAt: _, ...request } = shiftRequest({ capacity: 0, title: ' ' });
    const answer = await write({ ...request, startsAt: 'soon', location: 5, signupCount: 3, 'a/b~c': 1 });
    t.equal(answer.status, 400);
    t.same(pointersOf(answer), [
      '/a~1b~0c',
      '/capacity',
      '/endsAt',
      '/location',
      '/signupCount',
      '/startsAt',
      '/title',
    ]);
    // An invalid period is reported together with the other faults.
    const { startsAt } = shiftRequest();
    await refuses(t, { startsAt, endsAt: startsAt, capacity: 0 }, '/capacity', '/endsAt');
  });

  t.test(`${method}: fields that the server decides are refused`, async (t) => {
    for (const field of ['id', 'clubId', 'tenantId', 'createdById', 'createdAt', 'signups', 'freeSlots']) {
      await refuses(t, { [field]: shiftId }, `/${field}`);
    }
  });

  t.test(`${method}: a body that is not an object, or is missing, is refused`, async (t) => {
    for (const body of [[], [shiftRequest()], 'null', '"shift"', '5', undefined]) {
      t.match(await write(body), { status: 400, body: { code: 'validation_failed' } }, String(body));
    }
  });
}

t.test('only PUT accepts a version, and it is a whole number from 1', async (t) => {
  const post = await manager.post('/api/shifts', { ...shiftRequest(), version: 1 });
  t.match(post, { status: 400, body: { errors: [{ pointer: '/version' }] } });
  for (const version of [0, -1, 1.5, '1']) {
    const put = await manager.put(`/api/shifts/${shiftId}`, { ...shiftRequest(), version });
    t.match(put, { status: 400, body: { errors: [{ pointer: '/version' }] } });
  }
});
