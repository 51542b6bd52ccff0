import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t from 'tap';
import { Environment } from '../../src/variables.js';
import { root } from '../setup/source.js';

const PAGES = ['README.md', 'docs/api.md', 'docs/configuration.md', 'docs/one-signup.md'];

t.test('every link of README and of these pages leads to a file and a heading', async (t) => {
  const lost: string[] = [];
  for (const from of PAGES) {
    const text = await readFile(join(root, from), 'utf8');
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      const [path = '', heading] = link.split('#');
      const file = path === '' ? from : join(dirname(from), path);
      const isThere = /^https?:/.test(link) || (await hasHeading(file, heading));
      lost.push(...(isThere ? [] : [`${from}: ${link}`]));
    }
  }
  t.same(lost, []);
});

t.test('README has at most 150 lines', async (t) => {
  t.ok((await readFile(join(root, 'README.md'), 'utf8')).split('\n').length <= 151);
});

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

async function hasHeading(file: string, heading: string | undefined): Promise<boolean> {
  try {
    await access(join(root, file));
    return heading === undefined || anchorsOf(await readFile(join(root, file), 'utf8')).includes(heading);
  } catch {
    return false;
  }
}

/** The anchors that GitHub gives the headings of a page. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
