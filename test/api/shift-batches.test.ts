import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { stopClock } from '../setup/clock.js';
import { MISSING } from '../setup/endpoints.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';

const service = await startService(t);
const { db } = service;
const berlin = await db.makeClub('berlin');
await db.queryAsAdmin(`update app.clubs set time_zone = 'Europe/Berlin' where id = $1`, [berlin]);
const mara = service.as('mara', 'Manager', berlin);
const admin = service.as('ada', 'Admin', berlin);

/** A rule of one evening, changed. */
const rule = (difference: object = {}) => ({
  title: 'Training',
  capacity: 12,
  startsAtLocal: '2031-03-25T19:00',
  endsAtLocal: '2031-03-25T21:00',
  every: 'week',
  until: '2031-04-10',
  ...difference,
});
const repeat = (difference: object = {}, headers = {}) =>
  mara.post('/api/shifts/batch', { repeat: rule(difference) }, headers);
/** Signs 30 members up for each shift of a batch. Without triggers, which were tested with other signups. */
const signUpThirty = (batchId: string) =>
  withClient(db.adminUrl, async (client) => {
    await client.query('begin; set local session_replication_role = replica');
    await client.query(
      `insert into app.members (tenant_id, id, external_user_id, display_name, role)
       select $1, app.new_id(), 'person ' || number, 'Person', 'Member' from generate_series(1, 30) as number`,
      [berlin],
    );
    await client.query(
      `insert into app.shift_signups (tenant_id, id, shift_id, member_id, created_by_id)
       select tenant_id, app.new_id(), shift.id, member.id, null
       from app.shifts as shift join app.members as member using (tenant_id)
       where shift.batch_id = $1 and member.display_name = 'Person'`,
      [batchId],
    );
    await client.query('update app.shifts set signup_count = 30 where batch_id = $1', [batchId]);
    await client.query('commit');
  });
const count = async () => (await db.queryAsAdmin('select from app.shifts')).length;
const starts = ({ body }: { body: { startsAt: string }[] }) => body.map(({ startsAt }) => startsAt);

t.test('a list of shifts is created in its order, all or none, with one batchId', async (t) => {
  const shifts = [3, 1, 2].map((number) => shiftRequest({ title: `Number ${number}`, location: 'Bar' }));
  const made = await mara.post('/api/shifts/batch', { shifts });
  t.equal(made.status, 201);
  t.match(
    made.body,
    shifts.map(({ title }) => ({ title, location: 'Bar', version: 1, signupCount: 0 })),
  );
  const [{ batchId }] = made.body;
  t.equal(made.headers.location, `/api/shifts?batchId=${batchId}`);
  t.same(new Set(made.body.map((shift: { batchId: string }) => shift.batchId)), new Set([batchId]));
  t.same((await mara.get(made.headers.location as string)).body.length, 3);
  t.match(await mara.get(`/api/shifts/${made.body[0].id}`), {
    body: { batchId, createdById: await mara.memberId() },
  });

  const { body: events } = await mara.get('/api/events?type=shift.created');
  t.match(
    events,
    made.body.map(({ id }: { id: string }) => ({ subjectId: id, changes: { batchId: { to: batchId } } })),
    'its events are in this order',
  );

  const before = await count();
  const wrong = [
    { ...shifts[0], endsAt: shifts[0]?.startsAt },
    shifts[1],
    { ...shifts[2], capacity: 0, size: 1 },
  ];
  const { status, body } = await mara.post('/api/shifts/batch', { shifts: wrong });
  t.equal(status, 400);
  t.same(body.errors.map(({ pointer }: { pointer: string }) => pointer).sort(), [
    '/shifts/0/endsAt',
    '/shifts/2/capacity',
    '/shifts/2/size',
  ]);
  t.equal(await count(), before);
});

t.test('exactly one of shifts and repeat, within their limits', async (t) => {
  const one = shiftRequest();
  const anna = service.as('anna', 'Member', berlin);
  t.equal((await anna.post('/api/shifts/batch', { shifts: [one] })).status, 403);
  for (const [body, pointer, detail = /./] of [
    [{}, '/repeat'],
    [{ shifts: [one], repeat: rule() }, '/repeat'],
    [{ shifts: [] }, '/shifts'],
    [{ shifts: Array(201).fill(one) }, '/shifts'],
    [{ repeat: rule({ every: 'month' }) }, '/repeat/every'],
    [{ repeat: rule({ interval: 0 }) }, '/repeat/interval'],
    [{ repeat: rule({ interval: 53 }) }, '/repeat/interval'],
    [{ repeat: rule({ every: 'day', weekdays: ['TU'] }) }, '/repeat/weekdays'],
    [{ repeat: rule({ weekdays: ['WE'] }) }, '/repeat/weekdays'],
    [{ repeat: rule({ weekdays: ['TU', 'TU'] }) }, '/repeat/weekdays'],
    [{ repeat: rule({ weekdays: [] }) }, '/repeat/weekdays'],
    [{ repeat: rule({ startsAtLocal: '2031-03-25T19:00Z' }) }, '/repeat/startsAtLocal'],
    [{ repeat: rule({ startsAtLocal: '2031-03-25T19:00:00.5' }) }, '/repeat/startsAtLocal'],
    [{ repeat: rule({ startsAtLocal: '2031-02-29T19:00' }) }, '/repeat/startsAtLocal'],
    [{ repeat: rule({ until: '2031-04-31' }) }, '/repeat/until'],
    [{ repeat: rule({ until: '2031-03-24' }) }, '/repeat/until', /no shift until/],
    [{ repeat: rule({ until: '2031-03-25', except: ['2031-03-25'] }) }, '/repeat/until', /no shift until/],
    [{ repeat: rule({ every: 'day', until: '2032-03-25' }) }, '/repeat/until', /more than 366 shifts/],
    [{ repeat: rule({ except: Array(367).fill('2031-03-25') }) }, '/repeat/except'],
    [{ repeat: rule({ endsAtLocal: '2031-03-25T19:00' }) }, '/repeat/endsAtLocal'],
    [{ repeat: rule({ endsAtLocal: '2031-04-25T20:00:01' }) }, '/repeat/endsAtLocal'],
  ] as const) {
    const response = await mara.post('/api/shifts/batch', body);
    const title = JSON.stringify(body).slice(0, 200);
    t.match(response, { status: 400, body: { errors: [{ pointer, detail }] } }, title);
  }
  t.equal((await repeat({ every: 'day', until: '2032-03-24' })).body.length, 366);
  t.equal((await mara.post('/api/shifts/batch', { shifts: Array(200).fill(one) })).body.length, 200);
  const longest = await repeat({ endsAtLocal: '2031-04-25T20:00', until: '2031-03-25' });
  t.equal(longest.status, 201, '31 days of real time, which clocks show as an hour more');
});

t.test('the times of a rule are in the years 1970 to 2199, in UTC too', async (t) => {
  const club = await db.makeClub('new-york');
  await db.queryAsAdmin(`update app.clubs set time_zone = 'America/New_York' where id = $1`, [club]);
  const nora = service.as('nora', 'Manager', club);
  for (const [who, day, start, end, isValid] of [
    [mara, '1970-01-01', '00:59', '03:00', false],
    [mara, '1970-01-01', '01:00', '03:00', true],
    [nora, '2199-12-31', '17:00', '18:59', true],
    [nora, '2199-12-31', '17:00', '19:00', false],
  ] as const) {
    const times = { startsAtLocal: `${day}T${start}`, endsAtLocal: `${day}T${end}`, until: day };
    const made = await who.post('/api/shifts/batch', { repeat: rule(times) });
    const errors = [{ pointer: '/repeat/endsAtLocal', detail: RegExp(`1970 to 2199.* ${day}`) }];
    t.match(made, isValid ? { status: 201 } : { status: 400, body: { errors } }, `${day}T${start}/${end}`);
  }
});

t.test('a rule gives the starts of its local times, without the excepted days', async (t) => {
  t.same(
    starts(await repeat({ weekdays: ['SU', 'TU'], except: ['2031-04-01', '2031-04-01', '2031-04-02'] })),
    ['2031-03-25T18:00:00Z', '2031-03-30T17:00:00Z', '2031-04-06T17:00:00Z', '2031-04-08T17:00:00Z'],
    'summer time begins on 30 March',
  );
  t.same(
    starts(await repeat({ interval: 2, weekdays: ['MO', 'TU'] })),
    ['2031-03-25T18:00:00Z', '2031-04-07T17:00:00Z', '2031-04-08T17:00:00Z'],
    'weeks begin on Monday, and nothing is before the start',
  );
  t.same(starts(await repeat({ every: 'day', interval: 7, until: '2031-04-07' })).length, 2);
});

t.test(
  'a time that does not exist is later by the gap, one that occurs twice is the first, the end is local',
  async (t) => {
    const spring = await repeat({
      ...{
        startsAtLocal: '2031-03-29T02:30',
        endsAtLocal: '2031-03-29T04:30',
        every: 'day',
        until: '2031-03-31',
      },
    });
    t.same(starts(spring), ['2031-03-29T01:30:00Z', '2031-03-30T01:30:00Z', '2031-03-31T00:30:00Z']);
    const autumn = await repeat({
      ...{
        startsAtLocal: '2031-10-25T22:00',
        endsAtLocal: '2031-10-26T06:00:00',
        every: 'day',
        until: '2031-10-26',
      },
    });
    const hours = autumn.body.map(
      ({ startsAt, endsAt }: Record<string, string>) =>
        (Date.parse(String(endsAt)) - Date.parse(String(startsAt))) / 3_600_000,
    );
    t.same(hours, [9, 8]);
    t.same(
      starts(
        await repeat({
          startsAtLocal: '2031-10-26T02:30',
          endsAtLocal: '2031-10-26T04:00',
          every: 'day',
          until: '2031-10-26',
        }),
      ),
      ['2031-10-26T00:30:00Z'],
    );
  },
);

t.test(
  'every day whose end is not after its start is named, nothing is stored, and the key is free',
  async (t) => {
    const before = await count();
    const key = { 'idempotency-key': 'a season' };
    // On 30 March the start moves to 03:30, after the end.
    const wrong = {
      startsAtLocal: '2031-03-29T02:30',
      endsAtLocal: '2031-03-29T03:15',
      every: 'day',
      until: '2031-03-30',
    };
    const { status, body } = await repeat(wrong, key);
    t.match(
      { status, body },
      { status: 400, body: { errors: [{ pointer: '/repeat/endsAtLocal', detail: /2031-03-30/ }] } },
    );
    t.notMatch(body.errors[0].detail, /2031-03-29/);
    t.equal(await count(), before);
    const made = await repeat({}, key);
    t.equal(made.status, 201);
    const again = await repeat({}, key);
    t.equal(again.text, made.text);
    t.equal(again.headers['idempotent-replayed'], 'true');
    t.equal(await count(), before + made.body.length);
  },
);

t.test('a Manager deletes a batch of their own while it has no signups', async (t) => {
  const { body, headers } = await repeat({ every: 'day', until: '2031-03-27' });
  const path = String(headers.location);
  const refused = {
    status: 403,
    body: { code: 'insufficient_role', requiredRole: 'Admin', yourRole: 'Manager' },
  };
  const other = service.as('olga', 'Manager', berlin);
  t.match(await other.delete(path), refused, 'somebody else created them');
  const [first, last] = [body[0], body.at(-1)];
  await other.post(`/api/shifts/${first.id}/signup`);
  t.match(await mara.delete(path), refused, 'somebody is signed up');
  t.equal((await mara.get(path)).body.length, body.length, 'all or nothing');
  t.equal((await mara.delete(`${path}&from=${last.startsAt}`)).status, 204, 'none of these has a signup');
  await other.delete(`/api/shifts/${first.id}/signup`);
  t.equal((await mara.delete(path)).status, 204);
  t.same((await mara.get(path)).body, []);
});

t.test('an Admin deletes the shifts of a batch, or those that start at a time or later', async (t) => {
  const { body, headers } = await repeat({ every: 'day', until: '2031-03-27' });
  const path = String(headers.location);
  t.match(await admin.delete('/api/shifts'), {
    status: 400,
    body: { errors: [{ parameter: 'batchId', detail: 'This parameter is required.' }] },
  });
  t.match(await admin.delete(`${path}&to=2031-04-01T00:00:00Z`), { status: 400 });
  const gone = { status: 404, body: { code: 'shift_not_found', detail: /batchId= lists/ } };
  t.match(await admin.delete(`/api/shifts?batchId=${MISSING}`), gone);
  t.match(await admin.delete(`${path}&from=2031-04-01T00:00:00Z`), gone);
  t.equal((await admin.delete(`${path}&from=${body[1].startsAt}`, { 'if-match': '"9"' })).status, 204);
  t.same((await mara.get(path)).body, body.slice(0, 1));
  const both = await Promise.all([admin.delete(path), admin.delete(path)]);
  t.same(both.map(({ status }) => status).sort(), [204, 404]);
});

t.test(
  '366 shifts with the longest texts fit, are replayed, and are deleted with 30 signups each',
  async (t) => {
    // On a slow machine this takes longer than a request may.
    stopClock(t);
    const texts = { title: '𝄞'.repeat(200), location: '𝄞'.repeat(200), description: '𝄞'.repeat(10_000) };
    const longest = { ...texts, capacity: 30, every: 'day', until: '2032-03-24' };
    const key = { 'idempotency-key': 'the longest season' };
    const made = await repeat(longest, key);
    t.equal(made.body.length, 366, made.text.slice(0, 300));
    t.equal((await repeat(longest, key)).text, made.text);
    const [{ batchId }] = made.body;
    await signUpThirty(batchId);
    t.equal((await admin.delete(String(made.headers.location))).status, 204);
    t.same(await db.queryAsAdmin('select from app.shifts where batch_id = $1', [batchId]), []);
    t.same(await db.queryAsAdmin(`select from app.shift_signups where tenant_id = $1`, [berlin]), []);
  },
);
