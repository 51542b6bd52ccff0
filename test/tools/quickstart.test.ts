import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { root } from '../../tools/root.js';
import { prepareCommands } from './fixtures/commands.js';
import { DEFAULT_URL, needsCurl, paste } from './fixtures/paste.js';

const commands = await prepareCommands(t);
// The command of the page itself: with make, on an empty directory.
await commands.serve({}, ['make', 'run']);

const readme = await readFile(join(root, 'README.md'), 'utf8');
const chapter = /^## Quickstart$(.*?)^## /ms.exec(readme)?.[1] ?? '';
const blocks = [...chapter.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
const NEVER = '00000000-0000-4000-8000-000000000000';

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
const { code, out, err } = await paste(
  t,
  `${blocks.join('\n')}
as $CLEO $SOUTH $URL/api/shifts/${NEVER}
as $ANNA $NORTH "$URL/api/shifts?hasFreeSlots=true&from=${inDays(0)}&to=${inDays(7)}"
as $ANNA $NORTH "$URL/api/tasks?state=Assigned,InProgress&dueBefore=${inDays(2)}"
`,
  commands,
);
// What went wrong is said below, with the complaint.
const lines = code === 0 && err === '' ? out.trim().split('\n') : [];
const answers = lines.map((line) => JSON.parse(line));

t.test('the lines run as they are printed, and complain of nothing', needsCurl, async (t) => {
  t.equal(blocks.length, 4);
  t.equal(chapter.split(DEFAULT_URL).length, 3, 'one URL to paste, and one to look at');
  t.same([code, err], [0, '']);
});

t.test('they show what the text next to them describes', needsCurl, async (t) => {
  const [clubs, signup, full, foreign, unseen, never] = answers;
  t.equal(answers.length, 8);
  t.match(clubs, [
    { slug: 'north', role: 'Member' },
    { slug: 'south', role: 'Manager' },
  ]);
  t.match(signup, { memberName: 'Ben Brandt', shiftId: String });
  t.match(full, { status: 409, code: 'shift_full' });
  t.match(foreign, { status: 403, code: 'tenant_forbidden' });
  t.match(unseen, { status: 404, code: 'shift_not_found', instance: `/api/shifts/${signup.shiftId}` });

  const { requestId: _one, instance: _here, ...answer } = unseen;
  const { requestId: _other, instance: _there, ...absent } = never;
  t.same(answer, absent, 'the answer is the same as for an unknown id');
});

t.test('the demo data has what the nightly script looks for', needsCurl, async (t) => {
  const [free, due] = answers.slice(-2);
  t.match(free, [{ title: 'Boathouse cleaning' }]);
  t.match(due.map(({ title }: { title: string }) => title).sort(), ['Paint the fence', 'Update the website']);
});
