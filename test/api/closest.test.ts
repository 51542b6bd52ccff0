import t from 'tap';
import { closest } from '../../src/validation/closest.js';
import { MISSING } from '../setup/endpoints.js';
import { startService } from '../setup/service.js';

const service = await startService(t);
const club = await service.db.makeClub();
const anna = service.as('anna', 'Admin', club);

t.test(
  'a similar name is suggested: for typing errors, letter case, and other ways to write names',
  async (t) => {
    const known = [
      'title',
      'startsAt',
      'endsAt',
      'capacity',
      'location',
      'description',
      'to',
      '-createdAt',
      'q',
    ];
    const meant = {
      starts_at: 'startsAt',
      'starts-at': 'startsAt',
      STARTSAT: 'startsAt',
      startAt: 'startsAt',
      start: undefined,
      ends_At: 'endsAt',
      titel: 'title',
      Title: 'title',
      capcity: 'capacity',
      capasity: 'capacity',
      descripton: 'description',
      desc: undefined,
      ot: 'to',
      Q: 'q',
      x: undefined,
      '-created_at': '-createdAt',
      nonsense: undefined,
      '': undefined,
      _: undefined,
      __proto__x: undefined,
      ['title'.repeat(20)]: undefined,
    };
    const found = Object.keys(meant).map((word) => [word, closest(word, known)]);
    t.same(found, Object.entries(meant));
    t.equal(closest('title', []), undefined);
  },
);

t.test(
  'the error of an unknown field or parameter suggests the intended one, also in the problem’s detail',
  async (t) => {
    const faultOf = ({ body }: { body: { errors: object[]; detail: string } }) => [body.errors, body.detail];
    const hint = 'There is no such field here. Did you mean `dueAt`?';
    t.same(faultOf(await anna.post('/api/tasks', { title: 'Mow', due_at: null })), [
      [{ pointer: '/due_at', code: 'unknown', detail: hint }],
      `\`/due_at\`: ${hint}`,
    ]);
    const asked = 'There is no such parameter here. Did you mean `hasFreeSlots`?';
    t.same(faultOf(await anna.get('/api/shifts?hasfreeslot=true')), [
      [{ parameter: 'hasfreeslot', code: 'unknown', detail: asked }],
      `\`hasfreeslot\`: ${asked}`,
    ]);
    const several = await anna.post('/api/tasks', { titel: 'Mow' });
    t.equal(several.body.errors.length, 2);
    t.equal(several.body.detail, 'The body does not have the expected form. `errors` lists each fault.');
  },
);

t.test(
  'a value in the wrong letter case, or a sort by another name, gets the right one suggested',
  async (t) => {
    const hints: [path: string, hint: string | undefined][] = [
      ['/api/tasks?sort=created_at', 'createdAt'],
      ['/api/tasks?sort=-CreatedAt', '-createdAt'],
      ['/api/shifts?sort=start', undefined],
      ['/api/shifts?signedUp=ME', 'me'],
      ['/api/members?role=manager', 'Manager'],
      ['/api/tasks?state=open', 'Open'],
      ['/api/tasks?state=Open,inprogress', 'InProgress'],
      ['/api/tasks?state=', undefined],
    ];
    const found = [];
    for (const [path] of hints) {
      const { detail } = (await anna.get(path)).body;
      found.push([path, /Did you mean `([^`]+)`\?$/.exec(detail)?.[1]]);
    }
    t.same(found, hints);
    const { detail } = (await anna.patch(`/api/tasks/${MISSING}`, { state: 'in_progress' })).body;
    t.equal(
      detail,
      '`/state`: This must be one of: Open, Assigned, InProgress, Review, Done. Did you mean `InProgress`?',
    );
  },
);

t.test('an error repeats what the caller sent only when it is short and plain', async (t) => {
  const names = ['a'.repeat(65), 'a b', 'a\u0000', 'a\nb', 'a`b', '<b>', '🎾', 'a'.repeat(100_000)];
  for (const name of names) {
    const { body } = await anna.post('/api/tasks', { title: 'Mow', [name]: 1 });
    t.equal(body.errors.length, 1);
    t.equal(body.detail, 'There is no such field here.', name.slice(0, 70));
  }
});

t.test('names of prototype properties are handled like other names', async (t) => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const { status, body } = await anna.post('/api/tasks', `{"title":"Mow","${name}":1}`);
    t.same([status, body.errors[0]?.code], [400, 'unknown'], name);
  }
});

t.test('the error of a repeated list parameter shows the form with commas', async (t) => {
  const refused = await anna.get('/api/tasks?state=Open&state=Assigned');
  t.match(refused, {
    status: 400,
    body: {
      code: 'invalid_parameter',
      errors: [
        {
          parameter: 'state',
          detail: 'This must be given once, with commas between its words: Open,Assigned.',
        },
      ],
    },
  });
  t.equal((await anna.get('/api/tasks?state=Open,Assigned')).status, 200);
  const { parameters } = (await service.send('GET', '/openapi.json')).body.paths['/api/tasks'].get;
  const documented = parameters.find(({ name }: { name: string }) => name === 'state');
  t.match(documented, { style: 'form', explode: false, schema: { type: 'array' } }, 'so does the document');
});

t.test('the error of an unencoded + in a time says how to write it', async (t) => {
  const read = async (from: string) => (await anna.get(`/api/shifts?from=${from}`)).body.errors?.[0].detail;
  t.match(await read('2031-05-01T18:00:00+02:00'), 'In a URL the + of an offset is written as %2B.');
  t.notMatch(await read('2031-05-01T18:00:00'), '%2B');
  t.equal(await read('2031-05-01T18:00:00%2B02:00'), undefined);
});
