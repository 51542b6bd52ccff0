import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { Environment } from '../../src/variables.js';
import { root } from '../../tools/root.js';

t.test('docs/configuration.md names every variable once, with the default of the code', async (t) => {
  const page = await readFile(join(root, 'docs/configuration.md'), 'utf8');
  const rows = [...page.matchAll(/^\| (`[^|]*`) \| ([^|]*) ?\|/gm)].flatMap(
    ([, names = '', defaults = '']) => {
      const values = defaults.split(', ');
      return names.split(', ').map((name, index) => [unquoted(name), values[index]?.trim() ?? ''] as const);
    },
  );
  const documented = rows.map(([name, value]) => [name, value.startsWith('`') ? unquoted(value) : undefined]);
  const known = Object.entries(Environment.properties).map(([name, schema]) => [
    name,
    schema.default === undefined ? undefined : String(schema.default),
  ]);
  t.same(documented.sort(), known.sort());
});

const unquoted = (text: string) => text.replaceAll('`', '').trim();
