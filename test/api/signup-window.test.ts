import t, { type Test } from 'tap';
import { startService } from '../setup/service.js';
import { hoursFromNow, shiftRequest, started } from '../setup/shifts.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const admin = service.as('ada', 'Admin', north);
const manager = service.as('mara', 'Manager', north);
const anna = service.as('anna', 'Member', north);
const bert = service.as('bert', 'Member', north);

const at = (time: string) => `2031-06-01T${time}Z`;
const full = { title: 'Bar', startsAt: at('18:00:00'), endsAt: at('20:00:00'), capacity: 2 };
const limits = {
  signupOpensAt: at('10:00:00'),
  signupClosesAt: at('16:00:00.000001'),
  cancelUntil: at('12:00:00'),
};
const none = { signupOpensAt: null, signupClosesAt: null, cancelUntil: null };

async function makeShift(difference: object = {}) {
  const { body } = await manager.post('/api/shifts', shiftRequest(difference));
  return { id: body.id as string, path: `/api/shifts/${body.id}`, signup: `/api/shifts/${body.id}/signup` };
}

t.test('a shift has its limits everywhere, and without one they are null', async (t) => {
  for (const [sent, shown] of [
    [limits, limits],
    [{ ...limits, signupOpensAt: '2031-06-01T12:00:00+02:00' }, limits],
    [{}, none],
    [none, none],
  ]) {
    const { status, body } = await manager.post('/api/shifts', { ...full, ...sent });
    t.match({ status, body }, { status: 201, body: shown as object });
    t.match((await anna.get(`/api/shifts/${body.id}`)).body, shown as object);
    const { body: rows } = await anna.get('/api/shifts?limit=500');
    t.match(
      rows.find(({ id }: { id: string }) => id === body.id),
      shown as object,
    );
  }
});

/** Sends limits for a new and for an existing shift. */
async function check(t: Test, sent: object, pointers: string[] | undefined): Promise<void> {
  const { path } = await makeShift(full);
  for (const { status, body } of [
    await manager.post('/api/shifts', { ...full, ...sent }),
    await manager.put(path, { ...full, ...sent }),
    await manager.post('/api/shifts/batch', { shifts: [{ ...full, ...sent }] }),
  ]) {
    t.equal(status < 300, pointers === undefined, JSON.stringify(sent));
    t.same(
      body.errors?.map(({ pointer }: { pointer: string }) => pointer.replace('/shifts/0', '')).sort(),
      pointers,
      JSON.stringify(sent),
    );
  }
}

t.test('sign-up opens before the start and closes after that, no later than the start', async (t) => {
  for (const [sent, pointers] of [
    [{ signupOpensAt: at('17:59:59.999999') }, undefined],
    [{ signupOpensAt: at('18:00:00') }, ['/signupOpensAt']],
    [{ signupClosesAt: at('18:00:00') }, undefined],
    [{ signupClosesAt: at('18:00:00.000001') }, ['/signupClosesAt']],
    [{ signupOpensAt: at('10:00:00'), signupClosesAt: at('10:00:00.000001') }, undefined],
    [{ signupOpensAt: at('10:00:00'), signupClosesAt: at('10:00:00') }, ['/signupClosesAt']],
    [{ cancelUntil: at('18:00:00') }, undefined],
    [{ cancelUntil: '2031-06-01T20:00:00+02:00' }, undefined],
    [{ cancelUntil: at('18:00:00.000001') }, ['/cancelUntil']],
    [{ cancelUntil: at('09:00:00'), signupOpensAt: at('10:00:00') }, undefined],
    [
      { signupOpensAt: at('19:00:00'), signupClosesAt: at('18:30:00'), cancelUntil: at('19:00:00') },
      ['/cancelUntil', '/signupClosesAt', '/signupOpensAt'],
    ],
    [{ signupOpensAt: '1969-12-31T00:00:00Z' }, ['/signupOpensAt']],
    [{ cancelUntil: 'soon' }, ['/cancelUntil']],
  ] as const) {
    await check(t, sent, pointers as string[] | undefined);
  }
});

t.test('a PUT keeps a limit that it leaves out, and null removes it', async (t) => {
  const { path } = await makeShift({ ...full, ...limits });
  t.match(await manager.put(path, full), { status: 200, body: { ...limits, version: 1 } });
  let kept: object = limits;
  for (const [version, name] of Object.keys(limits).entries()) {
    kept = { ...kept, [name]: null };
    t.match(await manager.put(path, { ...full, [name]: null }), {
      status: 200,
      body: { ...kept, version: version + 2 },
    });
  }
  t.match(await manager.put(path, { ...full, ...limits }), { body: { ...limits, version: 5 } });
});

t.test(
  'a limit that a PUT keeps is compared with its values, after the version and before the signups',
  async (t) => {
    const { path, signup } = await makeShift({ ...full, ...limits, signupOpensAt: hoursFromNow(-1) });
    await anna.post(signup);
    await bert.post(signup);
    const earlier = { ...full, startsAt: at('11:00:00'), capacity: 1, version: 1 };
    for (const [body, headers, status, code] of [
      [{ ...earlier, version: 9 }, { 'if-match': '"9"' }, 412, 'precondition_failed'],
      [{ ...earlier, version: 9 }, {}, 409, 'shift_version_conflict'],
      [earlier, {}, 400, 'validation_failed'],
      [{ ...earlier, ...none }, {}, 409, 'capacity_below_signups'],
    ] as const) {
      t.match(await manager.put(path, body, headers), { status, body: { code } });
    }
    const { errors } = (await manager.put(path, earlier)).body;
    t.match(errors, [
      {
        pointer: '/signupClosesAt',
        code: 'invalid_value',
        detail: /out: `signupOpensAt` 20[^,]*, `signupClosesAt` 2031-06-01T16:00:00.000001Z\. Send/,
      },
      {
        pointer: '/cancelUntil',
        code: 'invalid_value',
        detail: /out: `cancelUntil` 2031-06-01T12:00:00Z\. Send/,
      },
    ]);
    t.match(
      (await manager.put(path, { ...full, signupClosesAt: at('17:00:00'), signupOpensAt: at('17:30:00') }))
        .body,
      { errors: [{ pointer: '/signupClosesAt' }] },
      'sent values are compared before the database is asked',
    );
    t.match(
      (await manager.put(path, { ...full, cancelUntil: null, signupClosesAt: hoursFromNow(-2) })).body,
      {
        errors: [{ pointer: '/signupClosesAt', detail: /out: `signupOpensAt` 20[^,]*\. Send/ }],
      },
    );
    t.match(await manager.put(path, { ...earlier, ...none, capacity: 2 }), { status: 200, body: none });
  },
);

t.test(
  'members sign up from the opening on and before the closing; a Manager signs up whom they like',
  async (t) => {
    const opensAt = hoursFromNow(1);
    const closedAt = hoursFromNow(-1);
    for (const [difference, status, answer] of [
      [{ signupOpensAt: hoursFromNow(-1) }, 201, {}],
      [{ signupClosesAt: hoursFromNow(1) }, 201, {}],
      [{ signupOpensAt: opensAt }, 422, { code: 'signup_not_open', signupOpensAt: opensAt }],
      [{ signupClosesAt: closedAt }, 422, { code: 'signup_closed', signupClosesAt: closedAt }],
    ] as const) {
      const { path, signup } = await makeShift({ ...difference, capacity: 1 });
      const made = await anna.post(signup);
      t.match(made, { status, body: withSeconds(answer) }, JSON.stringify(difference));
      t.equal(made.headers['set-cookie'], undefined);
      const keyed = await bert.post(signup, undefined, { 'idempotency-key': `window ${signup}` });
      t.match(keyed, status === 201 ? { status: 409 } : { status, body: withSeconds(answer) });
      // The roster is not bound by the window, and the member who was refused has a place afterwards.
      const roster = `${path}/signups/${await anna.memberId()}`;
      t.equal((await manager.put(roster)).status, status === 201 ? 200 : 201);
      if (status !== 201) {
        t.match(await anna.post(signup), { status, body: withSeconds(answer) }, 'before already_signed_up');
        t.match(await bert.post(signup), { status, body: withSeconds(answer) }, 'before shift_full');
      }
      t.equal((await manager.delete(roster)).status, 204);
    }
  },
);

/** Times as PostgreSQL writes them: without trailing zeros of the fraction. */
function withSeconds(answer: object): object {
  return Object.fromEntries(
    Object.entries(answer).map(([name, value]) => [
      name,
      name === 'code' ? value : String(value).replace(/\.?0*Z$/, 'Z'),
    ]),
  );
}

t.test('members cancel before the limit; a Manager cancels until the start', async (t) => {
  const cancelUntil = hoursFromNow(-1);
  const open = await makeShift({ cancelUntil: hoursFromNow(1) });
  await anna.post(open.signup);
  t.equal((await anna.delete(open.signup)).status, 204);
  const late = await makeShift({ cancelUntil });
  t.equal((await anna.post(late.signup)).status, 201, 'signing up is another limit');
  const refused = {
    status: 422,
    body: { code: 'cancel_too_late', cancelUntil: cancelUntil.replace(/\.?0*Z$/, 'Z') },
  };
  t.match(await anna.delete(late.signup), refused);
  t.match(await bert.delete(late.signup), refused, 'before signup_not_found');
  t.equal((await manager.delete(`${late.path}/signups/${await anna.memberId()}`)).status, 204);
  t.match(await anna.delete(open.signup), { status: 404, body: { code: 'signup_not_found' } });
});

t.test('a shift that has started is in the past, whatever its limits', async (t) => {
  const { signup } = await makeShift({
    ...started(),
    signupClosesAt: hoursFromNow(-2),
    cancelUntil: hoursFromNow(-2),
  });
  for (const response of [await anna.post(signup), await anna.delete(signup)]) {
    t.match(response, { status: 422, body: { code: 'shift_in_past' } });
  }
});

t.test('an event shows the limits that changed', async (t) => {
  const { id, path } = await makeShift({ ...full, cancelUntil: limits.cancelUntil });
  await manager.put(path, { ...full, ...limits, cancelUntil: null });
  const { body } = await admin.get(`/api/events?subjectId=${id}`);
  t.match(
    body.map(({ changes }: { changes: object }) => changes),
    [
      { cancelUntil: { from: null, to: limits.cancelUntil } },
      {
        signupOpensAt: { from: null, to: limits.signupOpensAt },
        signupClosesAt: { from: null, to: limits.signupClosesAt },
        cancelUntil: { from: limits.cancelUntil, to: null },
      },
    ],
  );
  t.notOk('signupOpensAt' in body[0].changes);
});

const repeat = (difference: object) =>
  manager.post('/api/shifts/batch', {
    repeat: {
      title: 'Training',
      capacity: 2,
      startsAtLocal: '2031-03-29T12:00',
      endsAtLocal: '2031-03-29T14:00',
      every: 'day',
      until: '2031-03-30',
      ...difference,
    },
  });

t.test('the limits of a rule are minutes of real time before each start', async (t) => {
  await service.db.queryAsAdmin(`update app.clubs set time_zone = 'Europe/Berlin' where id = $1`, [north]);
  const { status, body } = await repeat({
    signupOpensBefore: 1440,
    signupClosesBefore: 0,
    cancelUntilBefore: 90,
  });
  t.equal(status, 201);
  t.match(body, [
    {
      startsAt: '2031-03-29T11:00:00Z',
      signupOpensAt: '2031-03-28T11:00:00Z',
      signupClosesAt: '2031-03-29T11:00:00Z',
      cancelUntil: '2031-03-29T09:30:00Z',
    },
    {
      startsAt: '2031-03-30T10:00:00Z',
      // The day has 23 hours: the clocks of the club show 11:00.
      signupOpensAt: '2031-03-29T10:00:00Z',
      signupClosesAt: '2031-03-30T10:00:00Z',
      cancelUntil: '2031-03-30T08:30:00Z',
    },
  ]);
  t.match((await repeat({ signupOpensBefore: null })).body, [none, none]);
});

t.test('the limits of a rule are in order, and not before 1970', async (t) => {
  const early = { startsAtLocal: '1970-01-01T12:00', endsAtLocal: '1970-01-01T13:00', until: '1970-01-01' };
  for (const [difference, pointers] of [
    [{ signupOpensBefore: 0 }, ['/repeat/signupOpensBefore']],
    [{ signupOpensBefore: 525_601 }, ['/repeat/signupOpensBefore']],
    [{ signupOpensBefore: 525_600, signupClosesBefore: 525_599 }, undefined],
    [{ signupOpensBefore: 60, signupClosesBefore: 60 }, ['/repeat/signupClosesBefore']],
    [{ signupClosesBefore: -1 }, ['/repeat/signupClosesBefore']],
    [{ cancelUntilBefore: 525_601 }, ['/repeat/cancelUntilBefore']],
    [{ cancelUntilBefore: 1.5 }, ['/repeat/cancelUntilBefore']],
    [{ cancelUntilBefore: 0, signupClosesBefore: 525_600 }, undefined],
    [{ ...early, signupOpensBefore: 660 }, undefined],
    [{ ...early, signupOpensBefore: 661 }, ['/repeat/signupOpensBefore']],
    [
      { ...early, signupOpensBefore: 663, signupClosesBefore: 662, cancelUntilBefore: 661 },
      ['/repeat/cancelUntilBefore', '/repeat/signupClosesBefore', '/repeat/signupOpensBefore'],
    ],
  ] as const) {
    const { status, body } = await repeat(difference);
    t.equal(status, pointers === undefined ? 201 : 400, JSON.stringify(difference));
    t.same(
      body.errors?.map(({ pointer }: { pointer: string }) => pointer).sort(),
      pointers,
      JSON.stringify(difference),
    );
  }
});
