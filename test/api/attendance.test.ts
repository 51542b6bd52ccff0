import t from 'tap';
import { MISSING } from '../setup/endpoints.js';
import { nextOf, walk } from '../setup/paging.js';
import { startService } from '../setup/service.js';
import { hoursFromNow, shiftRequest } from '../setup/shifts.js';

const service = await startService(t);
const club = await service.db.makeClub('north');
const mara = service.as('mara', 'Manager', club, { name: 'Mara' });
const adam = service.as('adam', 'Admin', club, { name: 'Adam' });
const anna = service.as('anna', 'Member', club, { name: 'Anna' });
const ben = service.as('ben', 'Member', club, { name: 'Ben' });
const vera = service.as('vera', 'Viewer', club, { name: 'Vera' });
const people = [mara, adam, anna, ben, vera];
const [marasId, adamsId, annasId, bensId, verasId] = await Promise.all(people.map((one) => one.memberId()));
const strangersId = await service.as('sam', 'Member', await service.db.makeClub()).memberId();

/** A shift of an hour and a half and some seconds, that began two hours ago; members sign up before. */
async function makeShift(signedUp: unknown[] = [], title = 'Bar') {
  const { id } = (await mara.post('/api/shifts', shiftRequest({ title, capacity: 9 }))).body;
  const path = `/api/shifts/${id}`;
  for (const memberId of signedUp) {
    await mara.put(`${path}/signups/${memberId}`);
  }
  const start = Date.parse(hoursFromNow(-2));
  const [startsAt, endsAt] = [start, start + 90 * 60_000 + 59_000].map((time) =>
    new Date(time).toISOString(),
  );
  const { body } = await mara.put(path, { title, capacity: 9, startsAt, endsAt });
  // As the service writes them, without zeros at the end.
  const times = { startsAt: body.startsAt, endsAt: body.endsAt };
  return { id: id as string, path, times, of: (memberId: unknown) => `${path}/attendance/${memberId}` };
}

const refused = (status: number, code: string, members: object = {}) => ({
  status,
  body: { code, ...members },
});

t.test('a Manager records any member, and a PUT of the same changes nothing', async (t) => {
  const { id, times, of } = await makeShift([annasId]);
  const made = await mara.put(of(annasId), { status: 'Attended' });
  t.match(made, { status: 201, headers: { location: of(annasId), etag: '"1"' } });
  t.match(made.body, {
    shiftId: id,
    shiftTitle: 'Bar',
    ...times,
    wasSignedUp: true,
    memberId: annasId,
    memberName: 'Anna',
    status: 'Attended',
    minutes: 90,
    recordedById: marasId,
    version: 1,
  });
  for (const minutes of [undefined, null, 90]) {
    const same = await adam.put(of(String(annasId).toUpperCase()), { status: 'Attended', minutes });
    t.same([same.status, same.headers.location, same.text], [200, undefined, made.text]);
  }
  const changed = await adam.put(of(annasId), { status: 'Attended', minutes: 0 });
  t.match(changed, { status: 200, headers: { etag: '"2"' }, body: { minutes: 0, recordedById: adamsId } });
  t.match((await mara.put(of(annasId), { status: 'NoShow' })).body, { minutes: null, version: 3 });
  t.match(await mara.put(of(verasId), { status: 'Attended', minutes: 44_640 }), {
    status: 201,
    body: { wasSignedUp: false },
  });
  for (const status of ['NoShow', 'Excused']) {
    t.match(await mara.put(of(annasId), { status, minutes: 5 }), {
      status: 400,
      body: { errors: [{ pointer: '/minutes' }] },
    });
  }
  t.match(
    await mara.put(of(annasId), { status: 'Attended', minutes: 44_641 }),
    refused(400, 'validation_failed'),
  );
  t.match(await anna.put(of(annasId), { status: 'Attended' }), refused(403, 'insufficient_role'));
  t.equal((await mara.delete(of(verasId))).status, 204);
  t.match(await mara.get(of(verasId)), refused(404, 'attendance_not_found'));
  const { body: events } = await mara.get(
    `/api/events?subjectId=${id}&type=${'created,changed,deleted'
      .split(',')
      .map((verb) => `attendance.${verb}`)
      .join()}`,
  );
  t.same(
    events.map((event: Record<string, unknown>) => [event.type, event.memberId, event.fields, event.changes]),
    [
      ['attendance.created', annasId, ['minutes', 'status'], {}],
      ['attendance.changed', annasId, ['minutes'], {}],
      ['attendance.changed', annasId, ['minutes', 'status'], {}],
      ['attendance.created', verasId, ['minutes', 'status'], {}],
      ['attendance.deleted', verasId, ['minutes', 'status'], {}],
    ],
  );
});

t.test('refusals in order: shift, member, If-Match, version, start, If-None-Match', async (t) => {
  const { path: shift, of } = await makeShift();
  const { body: later } = await mara.post('/api/shifts', shiftRequest());
  const early = (memberId: unknown) => `/api/shifts/${later.id}/attendance/${memberId}`;
  const body = { status: 'Attended', version: 1 };
  const star = { 'if-match': '*' };
  t.match(
    await mara.put(`/api/shifts/${MISSING}/attendance/${MISSING}`, body, star),
    refused(404, 'shift_not_found'),
  );
  for (const memberId of [MISSING, strangersId]) {
    t.match(await mara.put(early(memberId), body, star), refused(404, 'member_not_found'));
  }
  const nothing = { detail: /there is nothing\. .*without If-Match/, currentVersion: undefined };
  t.match(await mara.put(early(annasId), body, star), refused(412, 'precondition_failed', nothing));
  const conflict = await mara.put(early(annasId), body);
  t.match(conflict, refused(409, 'attendance_version_conflict'));
  t.notOk('currentVersion' in conflict.body);
  t.match(await mara.put(early(annasId), { status: 'Excused' }), refused(422, 'shift_not_started'));

  t.equal((await mara.put(of(annasId), { status: 'Excused' })).status, 201);
  const old = { 'if-match': '"7"' };
  t.match(await mara.put(of(annasId), { ...body, version: 7 }, old), refused(412, 'precondition_failed'));
  t.match(
    await mara.put(of(annasId), { ...body, version: 7 }),
    refused(409, 'attendance_version_conflict', { currentVersion: 1 }),
  );
  const existing = { detail: /If-None-Match .*If-Match: "1"/, currentVersion: 1 };
  for (const tags of ['*', 'W/"1"']) {
    t.match(
      await mara.put(of(annasId), body, { 'if-none-match': tags }),
      refused(412, 'precondition_failed', existing),
      tags,
    );
  }
  t.equal((await mara.get(of(annasId))).body.status, 'Excused');
  t.match(await mara.delete(of(annasId), old), refused(412, 'precondition_failed'));
  t.equal((await mara.put(of(annasId), body, star)).status, 200);
  t.equal((await mara.delete(of(annasId), { 'if-match': '"2"' })).status, 204);
  t.match(await mara.delete(of(annasId), old), refused(404, 'attendance_not_found'));
  t.equal((await mara.put(of(annasId), { status: 'Excused' }, { 'if-none-match': '*' })).status, 201);
  t.equal((await mara.put(of(annasId), body, { 'if-none-match': '"0"' })).status, 200);
  t.equal((await mara.put(shift, shiftRequest())).status, 200);
  const postponed = await mara.put(of(annasId), body, { 'if-none-match': '*' });
  t.match(postponed, refused(409, 'attendance_version_conflict'));
  const unread = await mara.put(of(annasId), { status: 'Excused' }, { 'if-none-match': '*' });
  t.match(unread, refused(422, 'shift_not_started'));
  for (const path of [`/api/shifts/${MISSING}/attendance`, `/api/shifts/${MISSING}/attendance/${annasId}`]) {
    t.match(await mara.get(path), refused(404, 'shift_not_found'));
  }
  t.match(await mara.delete(`/api/shifts/${MISSING}/attendance/${annasId}`), refused(404, 'shift_not_found'));
});

t.test('a record keeps its shift as it was, outlives it, and can be changed then', async (t) => {
  const { id, path, times, of } = await makeShift([annasId, bensId]);
  await mara.put(of(annasId), { status: 'Attended' });
  await mara.put(path, { title: 'Bar, long', capacity: 9, ...times, endsAt: hoursFromNow(0) });
  t.match((await mara.get(of(annasId))).body, { shiftTitle: 'Bar', minutes: 90, version: 1 });
  const renewed = await mara.put(of(annasId), { status: 'Attended' });
  t.match(renewed.body, { shiftTitle: 'Bar, long', minutes: 120, version: 2 });
  t.equal((await adam.delete(path)).status, 204);

  t.match(await mara.get(of(annasId)), { status: 200, body: { shiftId: id, shiftTitle: 'Bar, long' } });
  t.match((await mara.get(`${path}/attendance`)).body, [{ memberId: annasId, version: 2 }]);
  for (const send of [mara.get, mara.delete, (to: string) => mara.put(to, { status: 'NoShow' })]) {
    t.match(await send(of(bensId)), refused(404, 'shift_not_found'), 'there is no record of this member');
  }
  t.equal((await mara.put(of(annasId), { status: 'Attended' })).text, renewed.text);
  t.match((await mara.put(of(annasId), { status: 'NoShow' })).body, { wasSignedUp: true, version: 3 });
  t.match((await mara.put(of(annasId), { status: 'Attended' })).body, { minutes: 120, version: 4 });
  t.equal((await mara.delete(of(annasId))).status, 204);
  t.match(await mara.get(of(annasId)), refused(404, 'shift_not_found'));

  const bar = { title: 'Bar', capacity: 1, startsAt: hoursFromNow(-3), endsAt: hoursFromNow(-1) };
  const [made] = (await mara.post('/api/shifts/batch', { shifts: [bar] })).body;
  const record = `/api/shifts/${made.id}/attendance/${bensId}`;
  t.equal((await mara.put(record, { status: 'Attended' })).status, 201);
  t.equal((await adam.delete(`/api/shifts?batchId=${made.batchId}`)).status, 204);
  t.match(await ben.get(record), { status: 200, body: { shiftTitle: 'Bar', minutes: 120 } });
});

t.test('a record has whether the member was signed up when it was last changed', async (t) => {
  const { path, times, of } = await makeShift([annasId]);
  await mara.put(of(annasId), { status: 'Attended' });
  for (const isSignedUp of [false, true]) {
    await mara.put(path, shiftRequest());
    await mara[isSignedUp ? 'put' : 'delete'](`${path}/signups/${annasId}`);
    await mara.put(path, { title: 'Bar', capacity: 9, ...times });
    t.match((await mara.get(of(annasId))).body, { wasSignedUp: !isSignedUp });
    const changed = await mara.put(of(annasId), { status: isSignedUp ? 'NoShow' : 'Excused' });
    t.match(changed, { status: 200, body: { wasSignedUp: isSignedUp } });
  }
});

t.test('the list of a shift has everybody who signed up or was recorded, by name', async (t) => {
  const { id, path, of } = await makeShift([bensId, annasId]);
  t.same((await mara.get(`/api/shifts/${(await makeShift()).id}/attendance`)).body, []);
  await mara.put(of(bensId), { status: 'Excused' });
  await mara.put(of(marasId), { status: 'Attended' });
  const { body: list } = await mara.get(`${path}/attendance`);
  const unrecorded = { status: null, minutes: null, recordedById: null, recordedAt: null, version: null };
  t.match(list, [
    { shiftId: id, shiftTitle: 'Bar', memberName: 'Anna', wasSignedUp: true, ...unrecorded },
    { memberName: 'Ben', status: 'Excused', minutes: null, wasSignedUp: true },
    { memberName: 'Mara', status: 'Attended', minutes: 90, wasSignedUp: false },
  ]);
  t.same(await walk(mara, `${path}/attendance?limit=1`), list);
  t.same(await walk(mara, `${path}/attendance?limit=2&sort=-memberName`), list.toReversed());
  const next = nextOf(await mara.get(`${path}/attendance?limit=1`)) as string;
  t.match(
    await mara.get(next.replace(id, (await makeShift()).id)),
    refused(400, 'invalid_cursor'),
    'a cursor is of one shift',
  );
  t.match(await anna.get(`${path}/attendance`), refused(403, 'insufficient_role'));
});

t.test('a Member reads their own records and hours only, with every filter and path', async (t) => {
  const { of } = await makeShift([annasId, bensId]);
  for (const memberId of [annasId, bensId]) {
    await mara.put(of(memberId), { status: 'Attended', minutes: 30 });
  }
  t.match(await anna.get(of(String(annasId).toUpperCase())), { status: 200, body: { minutes: 30 } });
  for (const path of [of(bensId), `/api/shifts/${MISSING}/attendance/${bensId}`]) {
    t.match(await anna.get(path), refused(403, 'insufficient_role'), 'before any 404');
  }
  for (const list of ['/api/attendance', '/api/hours']) {
    for (const query of ['', '?memberId=me', `?memberId=${annasId}`]) {
      const { body } = await anna.get(`${list}${query}`);
      t.ok(body.length >= 1);
      t.ok(
        body.every(({ memberId }: { memberId: string }) => memberId === annasId),
        `${list}${query}`,
      );
    }
    t.match(await anna.get(`${list}?memberId=${bensId}`), refused(403, 'insufficient_role'));
    t.match(await vera.get(list), refused(403, 'insufficient_role'));
    t.same((await mara.get(`${list}?memberId=${MISSING}`)).body, []);
    t.match((await mara.get(`${list}?memberId=${bensId}`)).body[0], { memberName: 'Ben' });
  }
});

t.test('hours are instants, of a season from its first moment to before its last', async (t) => {
  const club = await service.db.makeClub('berlin');
  const boss = service.as('boss', 'Admin', club, { name: 'Boss' });
  const memberId = await service.as('nora', 'Member', club, { name: 'Nora' }).memberId();
  const goneId = await service.as('gone', 'Member', club, { name: 'Gone' }).memberId();
  const absentId = await service.as('absent', 'Member', club, { name: 'Absent' }).memberId();
  const [first, last] = ['2025-10-25T22:00:00+02:00', '2025-12-31T22:00:00+01:00'];
  for (const [startsAt, endsAt] of [
    [first, '2025-10-26T06:00:00+01:00'],
    [last, '2026-01-01T06:00:00+01:00'],
  ]) {
    const { body: shift } = await boss.post('/api/shifts', { title: 'Night', capacity: 9, startsAt, endsAt });
    const at = `/api/shifts/${shift.id}/attendance`;
    t.equal((await boss.put(`${at}/${memberId}`, { status: 'Attended' })).status, 201);
    await boss.put(`${at}/${goneId}`, { status: startsAt === first ? 'Attended' : 'Excused' });
    await boss.put(`${at}/${absentId}`, { status: 'NoShow' });
  }
  const hours = async (query = '') =>
    (await walk(boss, `/api/hours?limit=1${query}`)).map(
      ({ memberName, shifts, minutes, noShows }) => `${memberName} ${shifts} ${minutes} ${noShows}`,
    );
  t.same(await hours(), ['Absent 0 0 2', 'Boss 0 0 0', 'Gone 1 540 0', 'Nora 2 1020 0']);
  const season = `&from=${encodeURIComponent(first)}&to=${encodeURIComponent(last)}`;
  t.same(await hours(season), ['Absent 0 0 1', 'Boss 0 0 0', 'Gone 1 540 0', 'Nora 1 540 0']);
  t.same(await hours(`${season}&memberId=${memberId}`), ['Nora 1 540 0']);
  t.equal((await walk(boss, `/api/attendance?limit=1${season}`)).length, 3);
  t.match(
    await boss.get(`/api/hours?from=${encodeURIComponent(last)}&to=2025-01-01T00:00:00Z`),
    refused(400, 'invalid_parameter'),
  );

  for (const id of [goneId, absentId]) {
    await service.db.queryAsAdmin('select app.erase_member($1, $2)', [club, id]);
  }
  t.same(await hours(), ['Boss 0 0 0', 'Former member 1 540 0', 'Nora 2 1020 0']);
  t.same(await hours('&from=2026-01-01T00:00:00Z'), ['Boss 0 0 0', 'Nora 0 0 0']);
  const left = await walk(boss, `/api/attendance?memberId=${goneId}`);
  t.match(left, [{ memberName: 'Former member', minutes: 540 }]);
  const of = (id: unknown) => `/api/shifts/${left[0]?.shiftId}/attendance/${id}`;
  t.match(await boss.put(of(absentId), { status: 'Attended' }), refused(404, 'member_not_found'));
  t.match(await boss.put(of(goneId), { status: 'Attended', minutes: 500 }), {
    status: 200,
    body: { memberName: 'Former member', minutes: 500 },
  });
  const { body: events } = await boss.get('/api/events?type=attendance.deleted');
  t.same(
    events.map((event: Record<string, unknown>) => [event.actorId, event.memberId]),
    [
      [null, goneId],
      [null, absentId],
      [null, absentId],
    ],
    'an operator deleted why they did not come',
  );
});
