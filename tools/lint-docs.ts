/** A part of `make check`: fails when a page has a link, a command or a name that is wrong. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { lintDocs } from './docs-lint.js';
import { root } from './root.js';

const pages = (await readdir(root)).filter((name) => name.endsWith('.md'));
for (const folder of ['docs', 'sql', 'test', 'bench', 'client']) {
  const names = await readdir(join(root, folder), { recursive: true });
  pages.push(
    ...names
      .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
      .map((name) => join(folder, name)),
  );
}
const faults = await lintDocs({ root, pages });
if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exitCode = 1;
}
