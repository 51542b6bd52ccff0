import t from 'tap';
import { startBrowser } from '../setup/browser.js';
import { tryOut } from '../setup/try-out.js';
import { prepareCommands } from '../tools/fixtures/commands.js';

const browser = await startBrowser(t);
const commands = await prepareCommands(t);
await commands.serve();
const page = await browser.open(`${commands.url}/docs`);

t.test(
  'every operation is answered with a success at its first click, those that delete at last',
  async (t) => {
    const { paths } = (await (await fetch(`${commands.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { operationId: string; tags: string[] }>>;
    };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId, tags }]) => ({
        selector: `#operations-${tags[0]}-${operationId}`,
        // What is below a row goes before the row.
        order: method === 'delete' ? 1_000 - path.length : Number(method !== 'post'),
      })),
    );
    const answers: string[] = [];
    for (const { selector } of operations.sort((one, other) => one.order - other.order)) {
      const status = await tryOut(page, selector);
      answers.push(...(/^20[014]$/.test(status) ? [] : [`${selector} ${status}`]));
      // The page draws an open operation anew with every answer.
      await page.click(`${selector} .opblock-summary-control`);
    }
    t.ok(operations.length > 15);
    t.same(answers, []);
  },
);
