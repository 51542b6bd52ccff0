import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { root } from '../../tools/root.js';
import { openClients, rejection } from '../setup/client.js';
import { codeBlocks, compile, execute, forNode, projectWithClient, runModule } from '../setup/pages.js';
import { startService } from '../setup/service.js';
import { hoursFromNow, shiftRequest, started } from '../setup/shifts.js';

const service = await startService(t);
const north = await service.db.makeClub('north');
const clients = await openClients(service);
const anna = await clients.as('anna', 'Manager', north);
const project = await projectWithClient(t);

t.test('the code of the client’s README prints the output in the README', async (t) => {
  await anna.tasks.create({ title: 'Rake', dueAt: hoursFromNow(1) });
  const blocks = await codeBlocks('client/README.md', 'js');
  t.ok(blocks.length >= 7);
  const printed = await runModule(project, blocks.join('\n'), {
    CLUB_URL: clients.baseUrl,
    CLUB_ID: north,
    CLUB_TOKEN: service.token({ sub: 'anna', name: 'anna', clubs: { [north]: 'Manager' } }),
  });
  t.same(printed, [
    'anna has a place at the Bar.',
    `In ${(await anna.clubs.current()).name} anna is Manager.`,
    'Refused: already_signed_up',
    'Nobody there: true',
    'Open: Rake',
    'A page: true',
    'Me among them: true',
    'All members: true',
    'It is InProgress meanwhile.',
    '3 places are left.',
    'Trainings: 3, on the list: 3',
    'This year: 1 shift, 2.5 hours',
    'Shifts in my calendar: 4',
    'New: title, now Open',
    'Asked for a token 2 times.',
    'The same: true',
  ]);
  const { stdout } = await execute('ls', ['node_modules/club-management-client'], { cwd: project });
  t.same(stdout.split(/\s+/).filter(Boolean).sort(), ['LICENSE', 'README.md', 'dist', 'package.json']);
});

t.test(
  'the README of the package links to nothing outside of the package, and its manifest is complete',
  async (t) => {
    const links = [...(await readFile('client/README.md', 'utf8')).matchAll(/\]\(([^)]+)\)/g)].map(
      ([, link]) => link,
    );
    t.same(
      links.filter((link) => !/^(https:|#)/.test(String(link))),
      [],
    );
    const manifest = JSON.parse(await readFile('client/package.json', 'utf8'));
    const members = [
      'name',
      'version',
      'description',
      'keywords',
      'license',
      'type',
      'engines',
      'exports',
      'types',
      'files',
    ];
    t.same(
      members.filter((member) => manifest[member] === undefined),
      [],
    );
  },
);

t.test(
  'the code of docs/api.md and of the client’s README is TypeScript, and the package describes itself correctly',
  async (t) => {
    const [quickstart = ''] = (await codeBlocks('docs/api.md', 'sh')).flatMap(
      (block) => /<<'END'\n(.*?)^END$/ms.exec(block)?.[1] ?? [],
    );
    await compile(project, [quickstart, (await codeBlocks('client/README.md', 'js')).join('\n')], forNode);

    const page = (code: string) =>
      `import { type Client, isProblem } from 'club-management-client';
     export const isFull = (error: unknown) => isProblem(error, '${code}');
     export const open = (client: Client) => client.tasks.list({ state: ['Open'] }).toArray();`;
    const browser = { module: 'Preserve', moduleResolution: 'Bundler', lib: ['ES2022', 'DOM'], types: [] };
    await compile(project, [page('shift_full')], browser);
    t.match(await rejection(compile(project, [page('shift_ful')], browser)), {
      stdout: /'"shift_ful"' is not assignable/,
    });
  },
);

t.test('the nightly script exports shifts and hours, creates a task per night, and reminds', async (t) => {
  const [code = ''] = await codeBlocks('docs/guides/nightly-script.md', 'js');
  const club = await service.db.makeClub('nightly');
  const mara = await clients.as('mara', 'Manager', club);
  await mara.shifts.create(shiftRequest({ title: 'The "big" bar', capacity: 3 }));
  await mara.shifts.create(
    shiftRequest({ title: '=1+1', startsAt: hoursFromNow(30), endsAt: hoursFromNow(31), capacity: 2 }),
  );
  await mara.shifts.create(
    shiftRequest({ title: 'Later', startsAt: hoursFromNow(200), endsAt: hoursFromNow(201) }),
  );
  await mara.shifts.create(shiftRequest({ title: 'Running', ...started() }));
  const year = new Date(Date.now() + 3_600_000).getUTCFullYear();
  const newYear = Date.UTC(year, 0) - 3_600_000;
  for (const [title, start, minutes] of [
    ['Old year', newYear - 60_000, 30],
    ['New year', newYear, 45],
  ] as const) {
    const times = {
      startsAt: new Date(start).toISOString(),
      endsAt: new Date(start + 3_600_000).toISOString(),
    };
    const { id } = await mara.shifts.create(shiftRequest({ title, ...times }));
    await mara.attendance.record(id, (await mara.members.me()).id, { status: 'Attended', minutes });
  }
  const full = await mara.shifts.create(shiftRequest({ title: 'Full', capacity: 1 }));
  await mara.shifts.signUp(full.id);
  const due = await mara.tasks.take(await mara.tasks.create({ title: 'Rake', dueAt: hoursFromNow(30) }));
  await mara.tasks.create({ title: 'Nobody’s', dueAt: hoursFromNow(30) });

  let tokenCalls = 0;
  const provider = createServer(async (request, response) => {
    tokenCalls += 1;
    const form = new URLSearchParams((await request.setEncoding('utf8').toArray()).join(''));
    const failure = [503, 429][tokenCalls - 1];
    if (failure !== undefined) {
      response.writeHead(failure).end();
      return;
    }
    const isRight = form.get('grant_type') === 'client_credentials' && form.get('client_secret') === 'sesame';
    const claims = { sub: form.get('client_id'), name: 'Nightly', clubs: { [club]: 'Manager' } };
    response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isRight ? { access_token: service.token(claims) } : {}));
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  t.teardown(() => provider.close());
  const environment = {
    CLUB_URL: clients.baseUrl,
    CLUB_ID: club,
    TOKEN_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/token`,
    CLIENT_ID: 'nightly',
    CLIENT_SECRET: 'sesame',
  };
  const today = () => new Date().toISOString().slice(0, 10);
  const nights = new Set([today()]);
  for (let run = 1; run <= 2; run += 1) {
    const printed = await runModule(project, code, environment);
    t.same(printed, [`mara: "Rake" is due at ${due.dueAt}.`]);
    t.equal(tokenCalls, run + 2, 'one token per run, requested again after a temporary failure');
  }
  nights.add(today());
  const [head, ...rows] = (await readFile(join(project, 'open-shifts.csv'), 'utf8')).trimEnd().split('\r\n');
  t.equal(head, '\uFEFFstartsAt,startsAtLocal,title,freeSlots');
  t.match(rows, [/^\d{4}-.*Z,\d{4}-.*,"The ""big"" bar",3$/, /^\d{4}-.*Z,\d{4}-.*,'=1\+1,2$/]);
  t.equal(rows.length, 2);
  const hours = (await readFile(join(project, `hours-${year}.csv`), 'utf8')).trimEnd().split('\r\n');
  t.match(hours, [
    '\uFEFFmemberId,memberName,shifts,minutes,noShows',
    /^[\w-]+,mara,1,45,0$/,
    /,Nightly,0,0,0$/,
  ]);
  t.equal(hours.length, 3);
  const made = await mara.tasks.list({ q: 'Fill the open shifts' }).toArray();
  t.ok(made.length >= 1 && made.length <= nights.size, 'one task per night, for both runs');
  await t.rejects(runModule(project, code, { ...environment, CLIENT_SECRET: 'wrong' }), /gave no token: 401/);
  await t.rejects(
    runModule(project, code, { CLUB_URL: clients.baseUrl }),
    /Set CLUB_ID, TOKEN_URL, CLIENT_ID, CLIENT_SECRET\./,
  );
  const { CLUB_URL, CLUB_ID } = environment;
  const CLUB_TOKEN = service.token({ sub: 'mara', name: 'mara', clubs: { [club]: 'Manager' } });
  t.same(await runModule(project, code, { CLUB_URL, CLUB_ID, CLUB_TOKEN }), [
    `mara: "Rake" is due at ${due.dueAt}.`,
  ]);
});

t.test(
  'the import enters who is missing, changes members without a login, and can be repeated',
  async (t) => {
    const [code = ''] = await codeBlocks('docs/guides/import-members.md', 'js');
    const [, example = ''] =
      /^```\n(.*?)^```$/ms.exec(await readFile('docs/guides/import-members.md', 'utf8')) ?? [];
    const club = await service.db.makeClub('import');
    const mara = await clients.as('mara', 'Manager', club);
    const CLUB_TOKEN = service.token({ sub: 'mara', name: 'mara', clubs: { [club]: 'Manager' } });
    await symlink(join(root, 'node_modules/csv-parse'), join(project, 'node_modules/csv-parse'));
    const run = async (file: string) => {
      await writeFile(join(project, 'members.csv'), file);
      return runModule(project, code, { CLUB_URL: clients.baseUrl, CLUB_ID: club, CLUB_TOKEN });
    };
    const anna = service.as('anna', 'Member', club);
    await mara.members.update(await anna.memberId(), { reference: '1042' });
    const members = async () =>
      (await mara.members.list({ hasLogin: false }).toArray()).map(({ reference, displayName, email }) => [
        reference,
        displayName,
        email,
      ]);

    t.same(await run(example), ['Not in the file: mara']);
    t.same(await members(), [['1077', 'Ida Berg', null]]);
    t.equal((await mara.members.get(await anna.memberId())).displayName, 'anna', 'a login is not changed');
    const many = Array.from(
      { length: 250 },
      (_, index) => `${index};"Berg; Person ${index}";P${index}@example.org`,
    );
    const changed = ['\ufeffnumber;name;email', '1077;Ida Dahl;ida@example.org', ...many].join('\r\n');
    t.same(await run(changed), ['Changed: Ida Dahl', 'Not in the file: anna', 'Not in the file: mara']);
    t.same(
      await run(changed),
      ['Not in the file: anna', 'Not in the file: mara'],
      'a second run changes nothing',
    );
    const rows = await members();
    t.equal(rows.length, 251);
    t.match(
      rows.find(([reference]) => reference === '1077'),
      ['1077', 'Ida Dahl', 'ida@example.org'],
    );
    t.match(
      rows.find(([reference]) => reference === '249'),
      ['249', 'Berg; Person 249', 'p249@example.org'],
    );
  },
);

t.test('the season scripts create a season once or not at all, move it, and record who came', async (t) => {
  const [code = ''] = await codeBlocks('docs/guides/season.md', 'js');
  const club = await service.db.makeClub('season');
  const mara = await clients.as('mara', 'Manager', club);
  const CLUB_TOKEN = service.token({ sub: 'mara', name: 'mara', clubs: { [club]: 'Manager' } });
  const environment = { CLUB_URL: clients.baseUrl, CLUB_ID: club, CLUB_TOKEN };
  const run = (changed = code) => runModule(project, changed, environment);
  const addressOf = (name: string) => `${name}@example.org`;
  const writePeople = (people: string[]) =>
    writeFile(join(project, 'people.txt'), people.map(addressOf).join('\n'));
  const idOf = (name: string) => service.as(name, 'Member', club, { email: addressOf(name) }).memberId();
  const people = Array.from({ length: 30 }, (_, index) => `p${index + 10}`);
  const ids = await Promise.all(people.map(idOf));

  await writePeople([...people, 'stranger']);
  await t.rejects(run(), /No member has the address stranger@example\.org\./);
  await writePeople(people);
  const invalid = run(code.replace('T23:00', 'T18:00'));
  await t.rejects(invalid, /validation_failed.*2099-04-07.*2099-09-29/);
  t.same(await mara.shifts.list().toArray(), [], 'nothing is created in part');

  t.same(await run(), ['']);
  const shifts = await mara.shifts.list().toArray();
  const tuesdays = Array.from({ length: 26 }, (_, week) =>
    new Date(Date.UTC(2099, 3, 7 + 7 * week)).toISOString().slice(0, 10),
  );
  t.same(
    shifts.map(({ startsAt }) => startsAt),
    tuesdays.map((date) => `${date}T17:00:00Z`),
  );
  const readRows = async () => {
    const [head, ...rows] = (await readFile(join(project, 'who-is-on.csv'), 'utf8')).trimEnd().split('\r\n');
    t.equal(head, '\uFEFFstartsAt,startsAtLocal,memberName');
    return rows.sort();
  };
  const rowOf = (name: string, week: number) =>
    `${tuesdays[week]}T17:00:00Z,${tuesdays[week]} 19:00:00,${name}`;
  const expected = people.map((name, index) => rowOf(name, Math.floor(index / 2)));
  t.same(await readRows(), expected);

  const first = String(shifts[0]?.id);
  await mara.shifts.unassign(first, String(ids[0]));
  await mara.shifts.assign(first, await idOf('olga'));
  t.same(await run(), ['']);
  t.same(await readRows(), [rowOf('olga', 0), ...expected.slice(1), rowOf('p10', 15)].sort());
  t.equal((await mara.shifts.list().toArray()).length, 26, 'a second run creates no second season');

  const [move = '', whoCame = ''] = (await codeBlocks('docs/guides/season.md', 'js')).slice(1);
  for (let time = 1; time <= 2; time += 1) {
    t.same(await run(move), [''], 'each shift is moved once');
    t.same(
      (await mara.shifts.list().toArray()).map(({ startsAt, endsAt }) => `${startsAt} ${endsAt}`),
      tuesdays.map((date) => `${date}T16:30:00Z ${date}T20:30:00Z`),
    );
  }
  const begun = whoCame.replaceAll('2099-', '2020-');
  t.same(await run(begun), [''], 'a shift that is not over has no record');
  const limits = { signupOpensAt: null, cancelUntil: null };
  const times = { startsAt: '2020-04-07T17:00:00Z', endsAt: '2020-04-07T20:30:00Z', ...limits };
  await mara.shifts.update(await mara.shifts.get(first), times);
  const absent = await mara.attendance.record(first, String(ids[1]), { status: 'NoShow' });
  for (let time = 1; time <= 2; time += 1) {
    t.same(await run(begun), [
      'olga: 1 shifts, 3.5 hours, 0 times absent',
      'p11: 0 shifts, 0 hours, 1 times absent',
    ]);
  }
  t.same(await mara.attendance.get(first, String(ids[1])), absent);

  const grill = code.replace('Bar', 'Grill').replace('capacity: 2', 'capacity: 1');
  t.same(await run(grill), [`No place is left for ${people.slice(26).map(addressOf).join(', ')}.`]);
});
