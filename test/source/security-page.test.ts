import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import t from 'tap';
import ts from 'typescript';
import { root } from '../../tools/root.js';
import { list } from '../setup/source.js';

const { dirname, join } = posix;

const PAGE = 'docs/security.md';
const COLUMNS = ['Asset', 'Attacker', 'Path', 'Defence', 'Test'];
const page = await readFile(root + PAGE, 'utf8');

/** The titles of each file, which are read once. */
const known = new Map<string, Promise<string[] | undefined>>();

/** The titles of the tests in a file, with `…` for each placeholder. Undefined when there is no such file. */
function titlesOf(path: string): Promise<string[] | undefined> {
  const titles = known.get(path) ?? readTitles(path);
  known.set(path, titles);
  return titles;
}

async function readTitles(path: string): Promise<string[] | undefined> {
  const text = await readFile(root + path, 'utf8').catch(() => undefined);
  if (text === undefined) {
    return undefined;
  }
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    // Of tap, or a helper of the file that prepares each test.
    if (ts.isCallExpression(node) && /^(\w+\.)?test$/.test(node.expression.getText())) {
      const [title] = node.arguments;
      if (title !== undefined && ts.isStringLiteralLike(title)) {
        titles.push(title.text);
      } else if (title !== undefined && ts.isTemplateExpression(title)) {
        titles.push([title.head.text, ...title.templateSpans.map(({ literal }) => literal.text)].join('…'));
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  return titles;
}

/** The target of a link, from the root of the project. */
const targetOf = (link: string) => join(dirname(PAGE), link);

/** The rows of the tables of threats. */
function threatsIn(text: string): string[][] {
  const threats: string[][] = [];
  let isOfThreats = false;
  for (const line of text.split('\n')) {
    const cells = line.startsWith('|') ? line.split('|').slice(1, -1).map((cell) => cell.trim()) : []; // biome-ignore format: one thing
    if (cells.join() === COLUMNS.join()) {
      isOfThreats = true;
    } else if (cells.length === 0) {
      isOfThreats = false;
    } else if (isOfThreats && !/^-+$/.test(cells[0] ?? '')) {
      threats.push(cells);
    }
  }
  return threats;
}

/** The rows without a defence that a test proves. */
async function unproved(text: string): Promise<string[]> {
  const faults: string[] = [];
  for (const cells of threatsIn(text)) {
    const [, , path, , tests = ''] = cells;
    if (cells.length !== COLUMNS.length || cells.includes('')) {
      faults.push(`${path}: a cell is empty, or too many`);
    }
    const named = [...tests.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)];
    if (named.map(([link]) => link).join(', ') !== tests || named.length === 0) {
      faults.push(`${path}: not only links to tests`);
    }
    for (const [, title = '', link = ''] of named) {
      const titles = await titlesOf(targetOf(link));
      if (!titles?.includes(title)) {
        faults.push(`${path}: ${titles === undefined ? `no file ${link}` : `no test “${title}” in ${link}`}`);
      }
    }
  }
  return faults;
}

t.test('every defended threat has a test that exists', async (t) => {
  t.ok(threatsIn(page).length > 40, `${threatsIn(page).length} threats`);
  t.same(await unproved(page), []);
});

t.test('a row without a test, with a missing test, or with a missing cell is found', async (t) => {
  const [head, row] = page.split('\n').filter((line) => /^\| (Asset|Every club) /.test(line)) as string[];
  const proof = row?.split('|').at(-2)?.trim() as string;
  const [title, file] = ['every threat that is said to be defended', '../test/source/security-page.test.ts'];
  const results: string[] = [];
  for (const planted of ['', 'a test', `[${title}](${file})`, `[${title}](../test/gone.test.ts)`, `${proof} and more`, `${proof} | more`]) {
    const faults = await unproved(`${head}\n|---|---|---|---|---|\n${row?.replace(proof, planted)}\n`);
    results.push(faults.length > 0 ? 'noticed' : planted);
  } // biome-ignore format: a fault each
  t.same(results, Array(6).fill('noticed'));
  t.same(await unproved(`${head}\n|---|---|---|---|---|\n${row}\n`), [], 'the original row has no fault');
});

t.test('every suite of attacks is linked by a threat', async (t) => {
  const { files } = await list('test/campaigns/attack');
  const suites = files.filter((path) => path.endsWith('.test.ts'));
  const named = new Set(threatsIn(page).flatMap((cells) => [...(cells[4] ?? '').matchAll(/\(([^)]+)\)/g)].map(([, link]) => targetOf(link ?? '')))); // biome-ignore format: one thing
  t.ok(suites.length > 0);
  t.same(
    suites.filter((path) => !named.has(path)),
    [],
  );
});
