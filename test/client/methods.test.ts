import { readFile } from 'node:fs/promises';
import t from 'tap';
import { createClient, type ShiftDetailDto } from '../../client/src/index.js';
import { describeResources } from '../../tools/client-types.js';
import { type Operation, readDocument } from '../../tools/document.js';
import { rejection } from '../setup/client.js';

const sent: Request[] = [];
/** Ends a loop that follows events, after its first request. */
let left = new AbortController();
const settings = {
  baseUrl: 'http://clubs.example/behind/a/proxy/',
  token: 'secret-token',
  fetch: async (input: string | URL | Request, init?: RequestInit) => {
    sent.push(new Request(input, init));
    left.abort();
    return Response.json([]);
  },
};
const client = createClient({ ...settings, clubId: 'north' });
const seen = { id: 'id-1', version: 7 };
const shift = { ...seen, title: 'Bar', startsAt: 'a', endsAt: 'b', capacity: 1, description: null };
const work = { title: 'Bar', startsAt: new Date(0), endsAt: new Date(1), capacity: 1 };

const rule = {
  title: 'Training',
  capacity: 12,
  startsAtLocal: '2031-05-06T19:00',
  endsAtLocal: '2031-05-06T21:00',
  every: 'week',
  until: '2031-09-30',
} as const;

/** A call of every method, and its operation. */
const calls: Record<string, Record<string, [operationId: string, call: () => Promise<unknown>]>> = {
  clubs: {
    mine: ['listMyClubs', () => client.clubs.mine()],
    current: ['getCurrentClub', () => client.clubs.current()],
  },
  events: {
    list: ['listEvents', () => client.events.list().toArray()],
    follow: [
      'listEvents',
      () => {
        left = new AbortController();
        return client.events.follow({ signal: left.signal }).next();
      },
    ],
  },
  members: {
    list: ['listMembers', () => client.members.list().toArray()],
    get: ['getMember', () => client.members.get('id-1')],
    me: ['getMyMembership', () => client.members.me()],
    create: ['createMember', () => client.members.create({ displayName: 'Ida' })],
    import: ['importMembers', () => client.members.import([{ displayName: 'Ida', reference: '7' }])],
    update: ['updateMember', () => client.members.update('id-1', { reference: null })],
    delete: ['deleteMember', () => client.members.delete('id-1')],
    setMembership: ['setMembership', () => client.members.setMembership('id-1', 'Left')],
    merge: ['mergeMembers', () => client.members.merge('id-1', 'id-1')],
  },
  tasks: {
    list: ['listTasks', () => client.tasks.list().toArray()],
    get: ['getTask', () => client.tasks.get('id-1')],
    create: ['createTask', () => client.tasks.create({ title: 'Rake' })],
    update: ['updateTask', () => client.tasks.update(seen, { title: 'Rake' })],
    move: ['updateTask', () => client.tasks.move(seen, 'Review')],
    take: ['updateTask', () => client.tasks.take(seen)],
    assign: ['updateTask', () => client.tasks.assign(seen, 'ben')],
    delete: ['deleteTask', () => client.tasks.delete(seen)],
  },
  shifts: {
    list: ['listShifts', () => client.shifts.list().toArray()],
    get: ['getShift', () => client.shifts.get('id-1')],
    create: ['createShift', () => client.shifts.create(work)],
    update: ['replaceShift', () => client.shifts.update(shift as unknown as ShiftDetailDto, { capacity: 2 })],
    replace: ['replaceShift', () => client.shifts.replace(seen, work)],
    delete: ['deleteShift', () => client.shifts.delete(seen)],
    signUp: ['signUp', () => client.shifts.signUp('id-1')],
    mySignup: ['getMySignup', () => client.shifts.mySignup('id-1')],
    cancelSignUp: ['cancelSignUp', () => client.shifts.cancelSignUp('id-1')],
    assign: ['assignSignUp', () => client.shifts.assign('id-1', 'id-1')],
    unassign: ['removeSignUp', () => client.shifts.unassign('id-1', 'id-1')],
    signup: ['getSignup', () => client.shifts.signup('id-1', 'id-1')],
    createMany: ['createShifts', () => client.shifts.createMany([work])],
    repeat: ['createShifts', () => client.shifts.repeat(rule)],
    deleteBatch: ['deleteShifts', () => client.shifts.deleteBatch('id-1', { from: new Date(0) })],
  },
  attendance: {
    list: ['listAttendance', () => client.attendance.list({ from: new Date(0) }).toArray()],
    ofShift: ['listShiftAttendance', () => client.attendance.ofShift('id-1').toArray()],
    get: ['getAttendance', () => client.attendance.get('id-1', 'id-1')],
    record: [
      'recordAttendance',
      () => client.attendance.record('id-1', 'id-1', { status: 'NoShow', version: 7 }, { onlyNew: true }),
    ],
    delete: [
      'deleteAttendance',
      () => client.attendance.delete({ shiftId: 'id-1', memberId: 'id-1', version: 7 }),
    ],
  },
  copies: {
    mine: ['copyMyData', () => client.copies.mine()],
    of: ['copyMemberData', () => client.copies.of('id-1')],
  },
  calendar: {
    createLink: ['createCalendarLink', () => client.calendar.createLink()],
    getLink: ['getCalendarLink', () => client.calendar.getLink()],
    deleteLink: ['deleteCalendarLink', () => client.calendar.deleteLink()],
    deleteLinkOf: ['deleteCalendarLinkOf', () => client.calendar.deleteLinkOf('id-1')],
  },
  hours: {
    list: ['listHours', () => client.hours.list({ memberId: 'me' }).toArray()],
  },
  signups: {
    list: ['listSignups', () => client.signups.list({ memberId: 'me' }).toArray()],
  },
  health: {
    live: ['isAlive', () => client.health.live()],
    ready: ['isReady', () => client.health.ready()],
  },
};

/** Whether an operation is for other programs than the client: its success is a file, not JSON. */
const isFile = ({ responses }: Operation) =>
  Object.entries(responses).some(
    ([status, { content }]) => status < '300' && content !== undefined && !('application/json' in content),
  );

t.test(
  'every operation of the document but files has a method, and every method has an operation',
  async (t) => {
    const { club: _club, ...parts } = client;
    // A resource without calls here must name its operations.
    const methods = Object.entries(parts)
      .filter(([part]) => part in calls)
      .flatMap(([part, of]) => Object.keys(of).map((name) => `${part}.${name}`));
    const tried = Object.entries(calls).flatMap(([part, of]) =>
      Object.keys(of).map((name) => `${part}.${name}`),
    );
    t.same(methods.sort(), tried.sort());

    const { paths } = await readDocument();
    const documented = new Map(
      Object.entries(paths).flatMap(([path, of]) =>
        Object.entries(of)
          // What is well-known is for libraries that log in, which the client leaves to its user.
          .filter(([, operation]) => !isFile(operation) && !path.startsWith('/.well-known/'))
          .map(([method, operation]) => [
            operation.operationId,
            {
              request: `${method.toUpperCase()} /behind/a/proxy${path.replaceAll(/\{\w+\}/g, 'id-1')}`,
              operation,
            },
          ]),
      ),
    );
    const others = Object.keys(parts).filter((part) => !(part in calls));
    const fileOf = (part: string) => part.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const sources = await Promise.all(
      others.map((part) => readFile(`client/src/${fileOf(part)}.ts`, 'utf8')),
    );
    const used = [
      ...Object.values(calls).flatMap((of) => Object.values(of).map(([operationId]) => operationId)),
      ...sources.flatMap((source) => [...documented.keys()].filter((name) => source.includes(`'${name}'`))),
    ];
    t.same(
      [...new Set(used)].sort(),
      [...documented.keys()].sort(),
      'a method in the client/src file of its resource calls each operation',
    );

    const wrong: unknown[] = [];
    for (const [operationId, call] of Object.values(calls).flatMap((of) => Object.values(of))) {
      sent.length = 0;
      await call();
      const [{ method, url, headers } = new Request('none:')] = sent;
      const { request, operation } = documented.get(operationId) ?? {};
      const body = await sent[0]?.text();
      const reads = (name: string) =>
        operation?.parameters?.some((parameter) => parameter.name === name) ?? false;
      const isVersioned = reads('If-Match');
      const expected = {
        request,
        tenant: reads('X-Tenant-Id'),
        token: operation?.security === undefined,
        key: reads('Idempotency-Key'),
        version: isVersioned,
      };
      const found = {
        request: `${method} ${new URL(url).pathname}`,
        tenant: headers.get('x-tenant-id') === 'north',
        token: headers.get('authorization') === 'Bearer secret-token',
        key: /^[\da-f]{32}$/.test(headers.get('idempotency-key') ?? ''),
        version: headers.get('if-match') === '"7"' || /"version":7/.test(body ?? ''),
      };
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        wrong.push({ operationId, found, expected });
      }
    }
    t.same(wrong, []);
  },
);

t.test('filters are encoded as the service parses them', async (t) => {
  sent.length = 0;
  await client.tasks.list({ state: ['Open', 'Done'], dueAfter: new Date(0), q: 'a&b c', limit: 5 }).toArray();
  await client.shifts.list({ hasFreeSlots: true }).toArray();
  t.same(
    sent.map(({ url }) => url.split('?')[1]),
    ['state=Open%2CDone&dueAfter=1970-01-01T00%3A00%3A00.000Z&q=a%26b%20c&limit=5', 'hasFreeSlots=true'],
  );
});

t.test('an update keeps the fields that are undefined, of a task and of a shift', async (t) => {
  sent.length = 0;
  const changes = { title: 'New', description: undefined };
  const whole = { ...shift, description: 'Behind the bar' } as unknown as ShiftDetailDto;
  await client.shifts.update(whole, changes);
  await client.tasks.update(seen, changes);
  const [replaced, patched] = await Promise.all(sent.map((request) => request.json()));
  t.match(replaced, { title: 'New', description: 'Behind the bar', capacity: 1, version: 7 });
  t.same(patched, { title: 'New', version: 7 }, 'PATCH keeps a field that is absent');
});

t.test('a change without the version that was read is rejected, and a delete of an id is sent', async (t) => {
  sent.length = 0;
  for (const wrong of [{ id: 'id-1' }, { id: 'id-1', version: '7' }, { version: 7 }, 'id-1']) {
    const object = wrong as unknown as typeof seen;
    for (const call of [
      () => client.tasks.update(object, { title: 'Rake' }),
      () => client.tasks.take(object),
      () => client.shifts.replace(object, work),
      () => client.shifts.update({ ...shift, version: undefined } as unknown as ShiftDetailDto, {}),
      ...(typeof wrong === 'string'
        ? []
        : [() => client.tasks.delete(object), () => client.shifts.delete(object)]),
    ]) {
      t.match(await rejection(call()), { name: 'TypeError', message: /its id and its version/ });
    }
  }
  t.equal(sent.length, 0);
  await client.tasks.delete('id-1');
  await client.shifts.delete('id-1');
  await client.shifts.delete(seen);
  t.same(
    sent.map(({ headers }) => headers.get('if-match')),
    [null, null, '"7"'],
  );
});

t.test('a key of the caller’s own is visible ASCII, with spaces only inside', async (t) => {
  sent.length = 0;
  const create = (idempotencyKey: string) => client.tasks.create({ title: 'Rake' }, { idempotencyKey });
  const valid = ['a', 'glasses of June', '!~', 'x'.repeat(255)];
  for (const key of valid) {
    await create(key);
  }
  t.same(
    sent.map(({ headers }) => headers.get('idempotency-key')),
    valid,
  );
  const notText = [5, { night: 1 }] as unknown as string[];
  for (const key of ['', ' ', ' a', 'a ', 'a\nb', 'Gläser', '\u{1f377}', 'x'.repeat(256), ...notText]) {
    t.match(await rejection(create(key)), { name: 'TypeError', message: /^idempotencyKey needs/ }, key);
  }
  t.equal(sent.length, valid.length);
  await client.tasks.create({ title: 'Rake' }, { idempotencyKey: undefined });
  t.match(sent.at(-1)?.headers.get('idempotency-key'), /^[\da-f]{32}$/, 'undefined is no key');
});

t.test('an invalid request is rejected before anything is sent', async (t) => {
  sent.length = 0;
  const row = { ...shift, description: undefined } as unknown as ShiftDetailDto;
  const clubless = createClient(settings);
  for (const [call, message] of [
    [() => clubless.tasks.get('id-1'), /needs a club/],
    [() => client.tasks.create({ title: 'Rake', dueAt: new Date('nonsense') }), /Invalid time value/],
    [() => client.shifts.update(row, { capacity: 2 }), /row of a list/],
    [() => createClient({ ...settings, clubId: 'n', token: 'secret\ntoken' }).tasks.get('id-1'), /The token/],
    [
      () => createClient({ ...settings, clubId: 'n', token: () => '' }).tasks.get('id-1'),
      /The token is empty/,
    ],
  ] as const) {
    const error = await rejection(call());
    t.match(error.message, message);
    t.notMatch(error.stack ?? '', /secret/);
  }
  t.throws(() => createClient({ ...settings, baseUrl: 'clubs.example' }), /Invalid URL/);
  for (const baseUrl of ['localhost:3000', 'ftp://clubs.example', 'file:///api']) {
    t.throws(() => createClient({ ...settings, baseUrl }), /must begin with http/, baseUrl);
  }
  t.throws(() => createClient({ ...settings, baseUrl: 'https://a:b@clubs.example' }), /user or a password/);
  t.equal(sent.length, 0);
  await clubless.club('south').tasks.get('id-1');
  t.equal(sent[0]?.headers.get('x-tenant-id'), 'south');
});

t.test('the package has no dependencies, and declares its requirements', async (t) => {
  const manifest = JSON.parse(await readFile('client/package.json', 'utf8'));
  for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies']) {
    t.notOk(manifest[kind], kind);
  }
  const { engines } = JSON.parse(await readFile('package.json', 'utf8'));
  t.match(manifest, { type: 'module', sideEffects: false, license: 'MIT' });
  t.same(manifest.engines, engines, 'the releases of Node.js that the tests run on');
  const entry = (await import('club-management-client')) as Record<string, unknown>;
  t.equal(typeof entry.createClient, 'function', 'its exports point to the build');
});

t.test('a resource with a two-word name has one file, and make snapshot reports a missing one', (t) => {
  const document = (...names: string[]) => ({
    tags: names.map((name) => ({ name })),
    paths: {},
    components: { schemas: {} },
  });
  const lines = describeResources(document('Boat repairs', 'Tasks', 'Operations'), [
    'boat-repairs.ts',
    'tasks.ts',
  ]);
  t.match(lines, "export { type BoatRepairs, boatRepairsOf as boatRepairs } from '../boat-repairs.js';");
  t.match(lines, "export { type Tasks, tasksOf as tasks } from '../tasks.js';");
  t.notMatch(lines, 'perations.js');
  t.throws(
    () => describeResources(document('Boat repairs'), ['tasks.ts']),
    /needs the file client\/src\/boat-repairs\.ts with BoatRepairs and boatRepairsOf/,
  );
  t.end();
});
