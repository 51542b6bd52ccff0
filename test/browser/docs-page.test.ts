import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { readDocument } from '../../tools/document.js';
import { type Browser, needs, type Page, startBrowser } from '../setup/browser.js';
import { freePort } from '../setup/free-port.js';
import { AUDIENCE } from '../setup/issuer.js';
import { startService } from '../setup/service.js';
import { element, isThere, openOperation, shownStatus, tryAgain, tryOut } from '../setup/try-out.js';
import { untilReady } from '../setup/wait.js';
import { demoDatabase, prepareCommands } from '../tools/fixtures/commands.js';

const NORTH = '11111111-1111-4111-8111-111111111111';
const SOUTH = '22222222-2222-4222-8222-222222222222';
const NEVER = '00000000-0000-4000-8000-000000000000';
const PHONE_PX = 390;
const LIST = '#operations-Tasks-listTasks';
const CONTROL = '#demo-people select';

// Without a browser every test is skipped.
const found = await startBrowser(t);
const skip = needs(found);
const browser = found as Browser;
const commands = await prepareCommands(t);
await commands.serve(await demoDatabase(t));
const page = (await found?.open(`${commands.url}/docs`)) as Page;
const { paths } = await readDocument();
/** The statuses of the successes of each operation. */
const successes = new Map(
  Object.values(paths).flatMap((path) =>
    Object.values(path).map(({ operationId, responses }) => [
      operationId,
      Object.keys(responses).filter((status) => status < '300'),
    ]),
  ),
);

const tryTasks = (page: Page) => tryOut(page, LIST);

/** Selects an option of the control, with the event that a user causes. */
const choose = (label: string) =>
  page.evaluate(`(() => {
    const select = ${element(CONTROL)};
    select.selectedIndex = [...select.options].findIndex(({ text }) => text === ${JSON.stringify(label)});
    select.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);

/** Overwrites the club of the open operation, with the event that the page's library expects. */
const writeClub = (id: string) =>
  page.evaluate(`(() => {
    const input = ${element(`${LIST} tr[data-param-name="X-Tenant-Id"] input`)};
    input.focus();
    input.select();
    document.execCommand('insertText', false, '${id}');
    input.blur();
  })()`);

/** Sends the open operation again; returns the command that the page shows. */
async function sendAgain(): Promise<{ status: string; command: string }> {
  const status = await tryAgain(page, LIST);
  return { status, command: await page.evaluate(`${element(`${LIST} .curl-command`)}.innerText`) };
}

async function actAs(label: string): Promise<{ status: string; command: string }> {
  await choose(label);
  return sendAgain();
}

/** The subject of the token in a command, if any. */
function subjectIn(command: string): string | undefined {
  const [, payload] = /Bearer [^.]+\.([^.]+)\./.exec(command) ?? [];
  return payload && JSON.parse(Buffer.from(payload, 'base64url').toString()).sub;
}

t.test(
  'the page shows every operation of the document, and each demo person in each club',
  skip,
  async (t) => {
    const ids = [...successes.keys()];
    await page.until(isThere(CONTROL));
    await page.until(`document.querySelectorAll('.opblock').length === ${ids.length}`);
    const shown = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.opblock')].map(({ id }) => id)`,
    );
    t.same(shown.map((id) => id.split('-').at(-1)).sort(), ids.sort());
    t.same(await page.evaluate(`[...${element(CONTROL)}.options].map(({ text }) => text)`), [
      'Anna Albers: Manager of Rowing Club North',
      'Ben Brandt: Member of Rowing Club North',
      'Cleo Costa: Member of Rowing Club North',
      'Cleo Costa: Manager of Tennis Club South',
      'Dora Dias: Admin of Rowing Club North',
      'Dora Dias: Admin of Tennis Club South',
      'Emil Engel: Viewer of Rowing Club North',
      'Yourself: press Authorize',
    ]);
  },
);

t.test(
  'every operation of the page succeeds at its first click, in order, and a second delete is a 404',
  skip,
  async (t) => {
    const shown = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.opblock')].map(({ id }) => '#' + id)`,
    );
    let repeated = 0;
    for (const selector of shown) {
      const id = selector.split('-').at(-1) as string;
      t.ok(successes.get(id)?.includes(await tryOut(page, selector)), id);
      if (successes.get(id)?.includes('204')) {
        repeated += 1;
        t.equal(await tryAgain(page, selector), '404', `${id} again`);
      }
      // The page renders an open operation again with every answer.
      await page.click(`${selector} .opblock-summary-control`);
    }
    const sent = page.requests.filter((url) =>
      /^\/(api\/|calendars\/|livez|readyz)/.test(new URL(url).pathname),
    );
    t.equal(sent.length, shown.length + repeated, 'one request a click');
  },
);

t.test('the page shows the name and logo of the service, and no other brand', skip, async (t) => {
  t.equal(await page.evaluate('document.title'), 'Club Management Service');
  t.match(await page.evaluate(`${element('.info .title')}.innerText`), /^Club Management Service/);
  const icon = await fetch(await page.evaluate<string>(`${element('link[rel=icon]')}.href`));
  t.match([icon.status, await icon.text()], [200, /^<svg /]);
  for (const selector of ['.topbar', 'img[alt*=Swagger]', 'a[href*=fastify]']) {
    t.equal(await page.evaluate(isThere(selector)), false, selector);
  }
  t.equal(
    await page.evaluate(`${element('.schemes-server-container')}.offsetHeight`),
    0,
    'no menu with a single choice',
  );
});

t.test('choosing a person sets the token and club of requests, also in open operations', skip, async (t) => {
  await openOperation(page, LIST);
  t.equal((await sendAgain()).status, '200');
  const cleo = await actAs('Cleo Costa: Manager of Tennis Club South');
  t.match([cleo.status, subjectIn(cleo.command)], ['200', 'cleo']);
  t.match(cleo.command, `X-Tenant-Id: ${SOUTH}`);

  await writeClub(NEVER);
  const elsewhere = await sendAgain();
  t.match([elsewhere.status, subjectIn(elsewhere.command)], ['403', 'cleo'], 'it can be overwritten');
  t.match(elsewhere.command, `X-Tenant-Id: ${NEVER}`);

  const emil = await actAs('Emil Engel: Viewer of Rowing Club North');
  t.match([emil.status, subjectIn(emil.command)], ['403', 'emil'], 'a Viewer reads no tasks');
  t.match(emil.command, `X-Tenant-Id: ${NORTH}`);

  const nobody = await actAs('Yourself: press Authorize');
  t.match([nobody.status, subjectIn(nobody.command)], ['401', undefined]);

  const ben = await actAs('Ben Brandt: Member of Rowing Club North');
  t.match([ben.status, subjectIn(ben.command)], ['200', 'ben']);
});

t.test(
  'the chosen person is kept after a reload; without a mouse, Tab reaches every control, the focus is visible, and Enter presses',
  skip,
  async (t) => {
    const operation = '#operations-Clubs-listMyClubs';
    await page.show(1_280, 900, 'light');
    await page.reload();
    await page.until(`${isThere(CONTROL)} && ${isThere(operation)}`);
    t.match(await page.evaluate(`${element(CONTROL)}.value`), /^Ben Brandt/);
    const goTo = async (selector: string) => {
      const controls = await page.evaluate<number>(
        `document.querySelectorAll('a, button, input, select').length`,
      );
      for (let presses = 1; presses <= controls; presses += 1) {
        await page.press('Tab');
        const [outline, isHere] = await page.evaluate<[string, boolean]>(
          `[getComputedStyle(document.activeElement).outlineStyle, document.activeElement.matches('${selector}')]`,
        );
        t.equal(outline, 'solid', `on the way to ${selector}`);
        if (isHere) {
          return;
        }
      }
      t.fail(`Tab does not lead to ${selector}`);
    };
    await goTo(CONTROL);
    await goTo('.btn.authorize');
    for (const button of ['.opblock-summary-control', '.try-out__btn', '.execute']) {
      await page.until(isThere(`${operation} ${button}`));
      await goTo(`${operation} ${button}`);
      const top = `${element(`${operation} ${button}`)}.getBoundingClientRect().top`;
      t.ok(
        await page.evaluate(`${top} >= ${element('#demo-people')}.offsetHeight`),
        'the control covers no focus',
      );
      await page.press('Enter');
    }
    t.equal(await shownStatus(page, operation), '200');
  },
);

t.test('a phone shows the page in dark and light mode', skip, async (t) => {
  await page.show(PHONE_PX, 844, 'dark');
  t.equal(await tryTasks(page), '200');
  for (const scheme of ['dark', 'light'] as const) {
    await page.show(PHONE_PX, 844, scheme);
    t.equal(
      await page.evaluate('document.documentElement.scrollWidth'),
      PHONE_PX,
      'nothing overflows the width',
    );
    const club = element(`${LIST} tr[data-param-name="X-Tenant-Id"] input`);
    t.equal(
      await page.evaluate(`${club}.scrollWidth <= ${club}.clientWidth`),
      true,
      'an id is shown completely',
    );
    t.equal(
      await page.evaluate(`(() => {
        const select = ${element(CONTROL)};
        const copy = select.cloneNode(true);
        Object.assign(copy.style, { flex: 'none', width: 'max-content' });
        select.after(copy);
        const isWhole = copy.offsetWidth <= select.offsetWidth;
        copy.remove();
        return isWhole;
      })()`),
      true,
      'so is every person with role and club',
    );
    t.same(
      await page.evaluate(`[...document.querySelectorAll('.opblock-tag')].filter((group) => {
        const [name, text] = ['a', 'small'].map((part) => group.querySelector(part).getBoundingClientRect());
        return text.top < name.bottom || text.left > name.left;
      }).map(({ innerText }) => innerText)`),
      [],
      'the description of a group is below its name',
    );
    const isDark = await page.evaluate(`document.documentElement.classList.contains('dark-mode')`);
    t.equal(isDark, scheme === 'dark');
  }
});

t.test('the page sends requests to the service only, and the browser reports no error', skip, async (t) => {
  const origins = page.requests
    .filter((url) => !url.startsWith('data:image/'))
    .map((url) => new URL(url).origin);
  t.same([...new Set(origins)], [commands.url]);
  const expected = /status of 40[134] /;
  t.same(
    page.complaints.filter((complaint) => !expected.test(complaint)),
    [],
  );
});

t.test('in production there is no control to choose a person', skip, async (t) => {
  const service = await startService(t);
  const port = await freePort();
  const child = spawn(process.execPath, ['dist/server.js'], {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      LOG_LEVEL: 'silent',
      PORT: String(port),
      DATABASE_URL: service.db.url,
      AUTH_ISSUER: service.issuer.url,
      AUTH_AUDIENCE: AUDIENCE,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.teardown(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await untilReady(child, `${url}/livez`);
  const found = ['/docs/demo-people', '/docs/demo-people.js'].map(async (path) => {
    const { status } = await fetch(`${url}${path}`);
    return status;
  });
  t.same(await Promise.all(found), [404, 404]);

  const { type, code } = (await (await fetch(`${url}/api/clubs/me`)).json()) as {
    type: string;
    code: string;
  };
  const explained = await fetch(new URL(type, url));
  t.same([code, explained.status], ['unauthenticated', 200], 'an error links to its page there too');
  t.match(await explained.text(), /<h1>Not authenticated<\/h1>/);

  t.equal((await (await fetch(`${url}/docs`)).text()).includes('demo-people'), false);
  const production = await browser.open(`${url}/docs`);
  await production.until(isThere(LIST));
  t.equal(await tryTasks(production), '401');
  t.equal(await production.evaluate(isThere('#demo-people')), false);
});
