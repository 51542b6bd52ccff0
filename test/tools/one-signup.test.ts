import { readFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { root } from '../../tools/root.js';
import { sendLinesTo } from '../setup/send.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';
import { until } from '../setup/wait.js';

const PAGE = 'docs/one-signup.md';
const page = await readFile(join(root, PAGE), 'utf8');

t.test('the page lists every file of src of which a signup runs a function, and no other', async (t) => {
  const lines: string[] = [];
  const log = { write: (line: string) => void lines.push(line) };
  const service = await startService(t, {}, undefined, log);
  const sendLines = await sendLinesTo(service.app);
  const club = await service.db.makeClub('north');
  const mara = service.as('mara', 'Manager', club);
  const signUp = async (device: string) => {
    const { body: shift } = await mara.post('/api/shifts', shiftRequest());
    const token = service.token({ sub: 'anna', name: 'Anna', device, clubs: { [club]: 'Member' } });
    return () =>
      sendLines('POST', `/api/shifts/${shift.id}/signup`, [
        ['authorization', `Bearer ${token}`],
        ['x-tenant-id', club],
      ]);
  };
  // The first one makes the member, and fetches the issuer's keys.
  t.equal((await (await signUp('phone'))()).status, 201);

  const send = await signUp('laptop');
  const session = new Session();
  session.connect();
  t.teardown(() => session.disconnect());
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  const { status } = await send();
  // The line of the log is written when the response has been sent, which the client may notice first.
  await until(
    () => lines.filter((line) => line.includes('"route":"/api/shifts/:id/signup"')).length,
    (count) => count === 2,
  );
  const { result } = await session.post('Profiler.takePreciseCoverage');
  t.equal(status, 201);

  const compiled = join(root, 'dist/development/');
  const run = result
    .filter(({ url }) => url.startsWith('file:') && fileURLToPath(url).startsWith(join(compiled, 'src/')))
    .filter(({ functions }) => functions.some(({ ranges: [whole] }) => (whole?.count ?? 0) > 0))
    .map(({ url }) => fileURLToPath(url).slice(compiled.length).replace(/\.js$/, '.ts'));
  const [inService = ''] = page.split(/^## In PostgreSQL$/m);
  const listed = [...inService.matchAll(/\[(src\/[^\]]+)\]\(\.\.\/([^)]+)\)/g)].map(([, name, link]) => {
    t.equal(link, name);
    return name;
  });
  t.same([...new Set(listed)].sort(), run.sort());
});
