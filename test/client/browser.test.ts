import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openClients } from '../setup/client.js';
import { freePort } from '../setup/free-port.js';
import { codeBlocks, emptyFolder, execute } from '../setup/pages.js';
import { startService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';
import { root } from '../setup/source.js';

const CHROMIUM = '/usr/bin/chromium';
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-dev-shm-usage'],
];

/** Beside the page: opens it in a frame, presses its button as a reader would, and shows what the page then says. */
const READER = `<!doctype html>
<iframe src="/"></iframe>
<pre id="seen"></pre>
<script type="module">
  const find = async (selector, isRight) => {
    for (let time = 0; time < 400; time += 1) {
      const found = document.querySelector('iframe').contentDocument?.querySelector(selector);
      if (found && isRight(found)) {
        return found;
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error('There is no ' + selector + ' on the page.');
  };
  const seen = document.querySelector('#seen');
  try {
    (await find('button', () => true)).click();
    seen.textContent = (await find('#said', ({ textContent }) => textContent !== '')).textContent;
  } catch (error) {
    seen.textContent = error.message;
  }
</script>`;

t.test('the sign-up page signs its reader up, in a browser, from another origin', async (t) => {
  await access(CHROMIUM, constants.X_OK).catch(() => {
    throw new Error(`${CHROMIUM} is missing: this needs Debian's chromium (apt-get install chromium).`);
  });
  const port = await freePort();
  const page = `http://127.0.0.1:${port}`;
  const folder = await emptyFolder(t);
  const [[html = ''], [server = '']] = await Promise.all([
    codeBlocks('docs/guides/signup-page.md', 'html'),
    codeBlocks('docs/guides/signup-page.md', 'js'),
  ]);

  const show = async (corsOrigins: string[]) => {
    const service = await startService(t, { corsOrigins });
    const north = await service.db.makeClub('north');
    const { as, baseUrl } = await openClients(service);
    const mara = await as('mara', 'Manager', north);
    const shift = await mara.shifts.create(shiftRequest({ title: 'Bar & <b>Grill</b>' }));
    await writeFile(join(folder, 'settings.json'), JSON.stringify({ baseUrl, clubId: north }));
    const token = await service.token({ sub: 'ben', name: 'Ben', clubs: { [north]: 'Member' } });
    await writeFile(join(folder, 'token'), `${token}\n`);
    const { stdout } = await execute(
      CHROMIUM,
      [
        ...FLAGS,
        `--user-data-dir=${await emptyFolder(t)}`,
        '--virtual-time-budget=20000',
        '--dump-dom',
        `${page}/reader.html`,
      ],
      { timeout: 60_000 },
    );
    const { signups } = await mara.shifts.get(shift.id);
    const said = /<pre id="seen">(.*?)<\/pre>/s.exec(stdout)?.[1];
    return { said, names: signups.map(({ memberName }) => memberName) };
  };

  await cp(join(root, 'client/dist'), join(folder, 'client'), { recursive: true });
  await writeFile(join(folder, 'index.html'), html);
  await writeFile(join(folder, 'reader.html'), READER);
  await writeFile(join(folder, 'serve.mjs'), server);
  const serving = spawn(process.execPath, ['serve.mjs'], {
    cwd: folder,
    env: { PORT: String(port) },
    stdio: 'ignore',
  });
  t.teardown(async () => {
    serving.kill();
    await once(serving, 'exit');
  });
  for (let time = 0; time < 100 && !(await fetch(page).catch(() => undefined)); time += 1) {
    await sleep(50);
  }

  t.same(await show([page]), {
    said: 'Ben, you have a place: Bar &amp; &lt;b&gt;Grill&lt;/b&gt;.',
    names: ['Ben'],
  });
  t.same(await show([]), { said: 'There is no button on the page.', names: [] }, 'without CORS_ORIGINS');
});
