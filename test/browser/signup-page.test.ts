import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { Role } from '../../src/roles.js';
import { root } from '../../tools/root.js';
import { type Browser, needs, type Page, startBrowser } from '../setup/browser.js';
import { openClients } from '../setup/client.js';
import { freePort } from '../setup/free-port.js';
import { codeBlocks, emptyFolder } from '../setup/pages.js';
import { startService } from '../setup/service.js';
import { hoursFromNow, shiftRequest, started } from '../setup/shifts.js';
import { untilReady } from '../setup/wait.js';

const found = await startBrowser(t);

t.test('the sign-up page signs its user up, in a browser, from another origin', needs(found), async (t) => {
  const browser = found as Browser;
  const port = await freePort();
  const page = `http://127.0.0.1:${port}`;
  const folder = await emptyFolder(t);
  const [[html = ''], [server = '']] = await Promise.all([
    codeBlocks('docs/guides/signup-page.md', 'html'),
    codeBlocks('docs/guides/signup-page.md', 'js'),
  ]);

  const show = async (corsOrigins: string[], role: Role = 'Member') => {
    const service = await startService(t, { corsOrigins });
    const north = await service.db.makeClub('north');
    const { as, baseUrl } = await openClients(service);
    const mara = await as('mara', 'Manager', north);
    await mara.shifts.create(shiftRequest({ title: 'Running', ...started() }));
    const shift = await mara.shifts.create(shiftRequest({ title: 'Bar & <b>Grill</b>' }));
    const later = { startsAt: hoursFromNow(48), endsAt: hoursFromNow(50) };
    const full = await mara.shifts.create(shiftRequest({ title: 'Ferry', capacity: 1, ...later }));
    await mara.shifts.signUp(full.id);
    await writeFile(join(folder, 'settings.json'), JSON.stringify({ baseUrl, clubId: north }));
    const token = service.token({ sub: 'ben', name: 'Ben', clubs: { [north]: role } });
    await writeFile(join(folder, 'token'), `${token}\n`);
    const opened = await browser.open(page);
    const said = await press(opened).catch(({ message }: Error) => message);
    const free = await opened.evaluate(`/\\d free/.exec(document.querySelector('button')?.textContent)?.[0]`);
    const { signups } = await mara.shifts.get(shift.id);
    const names = signups.map(({ memberName }) => memberName);
    const afterwards = names.length === 0 ? undefined : await press(opened, 'li:last-child button', said);
    const waits = await mara.waits.ofShift(full.id).toArray();
    return { said, free, names, afterwards, waiting: waits.map(({ memberName }) => memberName) };
  };

  await cp(join(root, 'client/dist'), join(folder, 'client'), { recursive: true });
  await writeFile(join(folder, 'index.html'), html);
  await writeFile(join(folder, 'serve.mjs'), server);
  const serving = spawn(process.execPath, ['serve.mjs'], {
    cwd: folder,
    env: { PAGE_PORT: String(port) },
    stdio: 'ignore',
  });
  t.teardown(async () => {
    serving.kill();
    await once(serving, 'exit');
  });
  await untilReady(serving, page);

  t.same(await show([page]), {
    said: 'Ben, you have a place: Bar & <b>Grill</b>.',
    free: '1 free',
    names: ['Ben'],
    afterwards: 'Ben, you wait for a place: Ferry. You are number 1.',
    waiting: ['Ben'],
  });
  t.same(await show([page], 'Viewer'), {
    said: 'This needs the role Member in the club; yours is Viewer.',
    free: '2 free',
    names: [],
    afterwards: undefined,
    waiting: [],
  });
  const { said, names } = await show([]);
  t.match(said, /blocked by CORS policy/, 'without CORS_ORIGINS');
  t.same(names, []);
});

/** Presses a button, as a user does; returns the text of the page, once it is another one. */
async function press(page: Page, button = 'button', before = ''): Promise<string> {
  await page.until(`document.querySelector('button') !== null`, () =>
    page.complaints.some((complaint) => complaint.includes('CORS')),
  );
  await page.click(button);
  await page.until(`document.querySelector('#said').textContent !== ${JSON.stringify(before)}`);
  return page.evaluate(`document.querySelector('#said').textContent`);
}
