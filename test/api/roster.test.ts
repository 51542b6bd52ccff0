import { randomUUID } from 'node:crypto';
import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { MISSING } from '../setup/endpoints.js';
import { walk } from '../setup/paging.js';
import { startService } from '../setup/service.js';
import { countsOf, hoursFromNow, shiftRequest, started } from '../setup/shifts.js';
import { untilWaitingForLocks } from '../setup/wait.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const mara = service.as('mara', 'Manager', north);
const anna = service.as('anna', 'Member', north);
const vera = service.as('vera', 'Viewer', north);
const [marasId, annasId, verasId] = await Promise.all([mara, anna, vera].map((one) => one.memberId()));
const strangersId = await service.as('sam', 'Member', south).memberId();
const erasedId = await service.as('eva', 'Member', north).memberId();
await service.db.queryAsAdmin('select app.erase_member($1, $2)', [north, erasedId]);

async function makeShift(difference: Parameters<typeof shiftRequest>[0] = {}) {
  const { id } = (await mara.post('/api/shifts', shiftRequest(difference))).body;
  const path = `/api/shifts/${id}`;
  return { id: id as string, path, of: (memberId: unknown) => `${path}/signups/${memberId}` };
}

t.test(
  'a Manager signs any member up, with 201 and its Location, and again with 200 and the same signup',
  async (t) => {
    const { id, path, of } = await makeShift();
    const made = await mara.put(of(verasId));
    t.equal(made.status, 201);
    t.equal(made.headers.location, of(verasId));
    t.match(made.body, { shiftId: id, memberId: verasId, memberName: 'vera', createdById: marasId });
    const again = await mara.put(of(String(verasId).toUpperCase()), {});
    t.equal(again.status, 200);
    t.equal(again.headers.location, undefined);
    t.equal(again.text, made.text);
    t.equal((await vera.get(of(verasId))).text, made.text, 'a Viewer reads it');
    t.match((await anna.get(path)).body, { signupCount: 1, isSignedUp: false, signups: [made.body] });
    t.match((await anna.post(`${path}/signup`)).body, { memberId: annasId, createdById: annasId });
    t.equal((await mara.put(of(annasId))).status, 200, 'even if the member created it');
    t.equal((await mara.delete(of(verasId))).status, 204);
    t.match(await vera.get(of(verasId)), { status: 404, body: { code: 'signup_not_found' } });
    t.match(await anna.put(of(annasId)), { status: 403, body: { code: 'insufficient_role' } });
    t.match(await anna.delete(of(annasId)), { status: 403, body: { code: 'insufficient_role' } });
    t.same(await countsOf(service.db, id), [1, 1]);
    const { body: events } = await mara.get(`/api/events?subjectId=${id}&memberId=${verasId}`);
    const byMara = { actorId: marasId, memberId: verasId };
    t.match(events, [
      { type: 'signup.created', ...byMara },
      { type: 'signup.deleted', ...byMara },
    ]);
  },
);

t.test(
  'a refusal has the first reason: no shift, no member, past, full; a signup that exists is no refusal',
  async (t) => {
    const { path, of } = await makeShift({ capacity: 1 });
    const missing = `/api/shifts/${MISSING}/signups`;
    for (const memberId of [annasId, MISSING, strangersId]) {
      t.match(await mara.put(`${missing}/${memberId}`), { status: 404, body: { code: 'shift_not_found' } });
      t.match(await mara.get(`${missing}/${memberId}`), { status: 404, body: { code: 'shift_not_found' } });
      t.match(await mara.delete(`${missing}/${memberId}`), {
        status: 404,
        body: { code: 'shift_not_found' },
      });
    }
    t.equal((await mara.put(of(annasId))).status, 201);
    for (const memberId of [MISSING, strangersId, erasedId]) {
      t.match(await mara.put(of(memberId)), { status: 404, body: { code: 'member_not_found' } });
      t.match(await mara.delete(of(memberId)), { status: 404, body: { code: 'signup_not_found' } });
      t.match(await mara.get(of(memberId)), { status: 404, body: { code: 'signup_not_found' } });
    }
    t.match(await mara.put(of(verasId)), { status: 409, body: { code: 'shift_full' } });
    await mara.put(path, shiftRequest({ ...started(), capacity: 1 }));
    t.match(await mara.put(of(verasId)), { status: 422, body: { code: 'shift_in_past' } });
    t.match(await mara.put(of(MISSING)), { status: 404, body: { code: 'member_not_found' } });
    t.equal((await mara.put(of(annasId))).status, 200);
    t.match(await mara.delete(of(annasId)), { status: 422, body: { code: 'shift_in_past' } });
    t.match(await mara.delete(of(MISSING)), { status: 422, body: { code: 'shift_in_past' } });
  },
);

t.test('a Manager signs up or records a member who joins while the call waits for the shift', async (t) => {
  const { id, of } = await makeShift();
  const past = `update app.shifts set starts_at = starts_at - interval '1 year', ends_at = ends_at - interval '1 year' where id = $1`;
  for (const [path, change, body] of [
    [of, 'select $1::uuid', undefined],
    [(memberId: string) => of(memberId).replace('signups', 'attendance'), past, { status: 'NoShow' }],
  ] as const) {
    const memberId = randomUUID();
    const response = await withClient(service.db.adminUrl, async (holder) => {
      await holder.query('begin');
      await holder.query('select from app.shifts where id = $1 for update', [id]);
      await holder.query(change, [id]);
      const waiting = mara.put(path(memberId), body);
      await untilWaitingForLocks(service.db, 1, waiting);
      await service.db.queryAsAdmin(
        `insert into app.members (tenant_id, id, external_user_id, display_name, role) values ($1, $2, $2::uuid::text, 'Nora', 'Member')`,
        [north, memberId],
      );
      await holder.query('commit');
      return waiting;
    });
    t.match(response, { status: 201, body: { memberId, memberName: 'Nora' } }, path(memberId));
  }
  t.same(await countsOf(service.db, id), [1, 1]);
});

t.test(
  '/api/signups lists who is signed up, by the start of the shift, filtered by member and window',
  async (t) => {
    const clubId = await service.db.makeClub();
    const boss = service.as('boss', 'Manager', clubId);
    const carl = service.as('carl', 'Member', clubId);
    const [bossId, carlsId] = [await boss.memberId(), await carl.memberId()];
    const shifts = [];
    for (const hours of [48, 24, 72]) {
      const times = { startsAt: hoursFromNow(hours), endsAt: hoursFromNow(hours + 2) };
      const { body } = await boss.post(
        '/api/shifts',
        shiftRequest({ title: `In ${hours}`, location: 'Bar', ...times }),
      );
      shifts.push(body);
      await boss.put(`/api/shifts/${body.id}/signups/${carlsId}`);
    }
    await boss.post(`/api/shifts/${shifts[0].id}/signup`);
    const titles = (rows: { shiftTitle: string; memberName: string }[]) =>
      rows.map(({ shiftTitle, memberName }) => `${memberName} ${shiftTitle}`);
    const viewer = service.as('val', 'Viewer', clubId);
    const { body } = await viewer.get(`/api/signups?memberId=${carlsId}`);
    t.same(titles(body), ['carl In 24', 'carl In 48', 'carl In 72']);
    const { startsAt, endsAt, id } = shifts[1];
    t.match(body[0], {
      shiftId: id,
      location: 'Bar',
      startsAt,
      endsAt,
      memberId: carlsId,
      createdById: bossId,
    });
    t.same((await carl.get('/api/signups?memberId=me')).body, body);
    t.same(titles((await viewer.get(`/api/signups?shiftId=${shifts[0].id}`)).body).sort(), [
      'boss In 48',
      'carl In 48',
    ]);
    const pair = shifts.slice(1).map(({ startsAt, endsAt }) => ({ ...shiftRequest(), startsAt, endsAt }));
    const batch = (await boss.post('/api/shifts/batch', { shifts: pair })).body;
    await boss.put(`/api/shifts/${batch[0].id}/signups/${carlsId}`);
    const ofBatch = await viewer.get(`/api/signups?batchId=${batch[0].batchId}`);
    t.match(ofBatch.body, [{ shiftId: batch[0].id, memberId: carlsId }]);
    t.equal(ofBatch.body.length, 1);
    for (const filter of ['memberId', 'shiftId', 'batchId']) {
      t.same((await viewer.get(`/api/signups?${filter}=${MISSING}`)).body, []);
    }
    const to = encodeURIComponent(hoursFromNow(48.5));
    const from = encodeURIComponent(hoursFromNow(47));
    t.same(titles((await viewer.get(`/api/signups?from=${from}&to=${to}`)).body).sort(), [
      'boss In 48',
      'carl In 48',
    ]);
    t.same(titles((await viewer.get('/api/signups?sort=-startsAt')).body)[0], 'carl In 72');
    t.same((await walk(viewer, '/api/signups?limit=1')).length, 5);
    t.match(await viewer.get(`/api/signups?from=${to}&to=${from}`), { status: 400 });
    const signedUp = (await viewer.get(`/api/shifts?signedUp=${bossId}`)).body;
    t.match(signedUp, [{ title: 'In 48', isSignedUp: false }], 'shifts of a member');
    t.same((await viewer.get(`/api/shifts?signedUp=${MISSING}`)).body, []);
  },
);
