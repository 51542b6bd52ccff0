import t from 'tap';
import { startBrowser } from '../setup/browser.js';
import { tryAgain, tryOut } from '../setup/try-out.js';
import { prepareCommands } from './fixtures/commands.js';

const browser = await startBrowser(t);
const commands = await prepareCommands(t);
await commands.serve();
const page = await browser.open(`${commands.url}/docs`);

const CREATES = ['createTask', 'createShift', 'signUp'];
const DELETES = ['deleteTask', 'deleteShift', 'cancelSignUp'];

t.test(
  'every operation of the page succeeds at its first click, in order, and a second delete is a 404',
  async (t) => {
    await page.until(`document.querySelector('#demo-people select') !== null`);
    const shown = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.opblock')].map(({ id }) => '#' + id)`,
    );
    t.ok(shown.length > 15);
    for (const selector of shown) {
      const id = selector.split('-').at(-1) as string;
      const isDelete = DELETES.includes(id);
      t.equal(await tryOut(page, selector), CREATES.includes(id) ? '201' : isDelete ? '204' : '200', id);
      if (isDelete) {
        t.equal(await tryAgain(page, selector), '404', `${id} again`);
      }
      // The page renders an open operation again with every answer.
      await page.click(`${selector} .opblock-summary-control`);
    }
    const sent = page.requests.filter((url) => /^\/(api\/|livez|readyz)/.test(new URL(url).pathname));
    t.equal(sent.length, shown.length + DELETES.length, 'one request a click');
  },
);
