import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { lintDocs } from '../../tools/docs-lint.js';

const root = await mkdtemp(join(tmpdir(), 'club-docs-'));
t.teardown(() => rm(root, { recursive: true, force: true }));
await mkdir(join(root, 'docs'));
await writeFile(join(root, 'Makefile'), 'test: build ## run the tests\n');
await writeFile(join(root, 'package.json'), '{"scripts": {"build": "tsc"}}');
const lint = async (text: string) => {
  await writeFile(join(root, 'docs/page.md'), text);
  return lintDocs({ root, pages: ['docs/page.md'] });
};

t.test('correct links, commands and names are not reported', async (t) => {
  const right = [
    '# A page, with `code`',
    '[up](../Makefile), [here](#a-page-with-code), [out](https://example.org/none), [mail](mailto:a@example.org)',
    '    make test FILES=x',
    'Run `make test` or `npm run build`; make sure that PostgreSQL and postgres.js are there. `Postgres` is code.',
    '```sh\nmake test\n```',
  ];
  t.same(await lint(right.join('\n\n')), []);
});

t.test(
  'a link that leads nowhere, a command that does not exist and a misspelled name are reported',
  async (t) => {
    for (const [text, fault] of [
      ['[a](none.md)', 'the link none.md leads nowhere.'],
      ['[a](../Makefile#none)', 'the link ../Makefile#none leads nowhere.'],
      ['[a](#none)', 'the link #none leads nowhere.'],
      ['Run `make tests`.', 'there is no command make tests.'],
      ['```sh\nmake none\n```', 'there is no command make none.'],
      ['`npm run lint`', 'there is no command npm run lint.'],
      ['It is written for Postgres.', 'Postgres is spelled PostgreSQL.'],
      ['It runs on NodeJS.', 'NodeJS is spelled Node.js.'],
    ] as const) {
      t.same(await lint(text), [`docs/page.md: ${fault}`], text);
    }
  },
);
