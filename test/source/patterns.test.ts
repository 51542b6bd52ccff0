import { readFile } from 'node:fs/promises';
import { check } from 'recheck';
import t from 'tap';
import { list, root } from '../setup/source.js';
import { type Pattern, patternsInSql, patternsOf } from './patterns.js';

/** By steps and not by the clock, so that a busy machine finds what an idle one finds. */
const LIMITS = { timeout: 20_000, attackTimeout: null, incubationTimeout: null, randomSeed: 1 };

/** What the expression does with the worst text; nothing when it takes a time that grows with the text's length. */
async function weaknessOf({ path, source, flags }: Pattern): Promise<string[]> {
  const { status, ...found } = await check(source, flags, LIMITS);
  if (status === 'safe') {
    return [];
  }
  const why = 'complexity' in found ? found.complexity.summary : String('error' in found && found.error.kind);
  return [`${path}: /${source}/${flags} is ${status}: ${why}`];
}

/** The weaknesses of many, one after the other: each search uses a processor of its own. */
async function weaknessesOf(patterns: Pattern[]): Promise<string[]> {
  const weaknesses: string[] = [];
  for (const pattern of patterns) {
    weaknesses.push(...(await weaknessOf(pattern)));
  }
  return weaknesses;
}

/** AUTH_CLUBS_PATTERN is the operator's, and matched under a deadline: test/identity/clubs-pattern.test.ts. */
const OF_THE_OPERATOR = /^src\/identity\/(clubs-pattern|clubs-claim|settings)\.ts: /;

t.test('no regular expression of the source can be made to take long', async (t) => {
  const { files } = await list('src');
  const read = await Promise.all(
    files
      .filter((path) => path.endsWith('.ts'))
      .map(async (path) => patternsOf(path, await readFile(`${root}${path}`, 'utf8'))),
  );
  const patterns = read.flatMap((module) => module.patterns);
  t.ok(patterns.length > 30, `${patterns.length} regular expressions`);
  t.same(
    read.flatMap(({ unreadable }) => unreadable).filter((one) => !OF_THE_OPERATOR.test(one)),
    [],
    'each is written down where it is used',
  );
  t.same(await weaknessesOf(patterns), []);
});

t.test('nor one of the database that sees what a request brings', async (t) => {
  // The schema audit reads the catalogue, which only deploys write.
  const { files } = await list('sql');
  const chapters = files.filter((path) => /^sql\/(migrations|policies)\//.test(path));
  const patterns = (await Promise.all(chapters.map(patternsInSql))).flat();
  t.ok(
    patterns.some(({ source }) => source === '^[a-z0-9]+(-[a-z0-9]+)*$'),
    'the form of a slug is among them',
  );
  t.same(await weaknessesOf(patterns), []);
});

t.test('a slow one is found, wherever it stands', async (t) => {
  const planted = {
    'a literal': 'export const is = (text: string) => /^(a+)+$/.test(text);',
    'a constructor': "new RegExp('^(\\\\w|\\\\d)*!$', 'u');",
    'a call': 'RegExp(`(x*)*y`);',
    'a method': "text.match('^(a|a)*$');",
    'a schema': "Type.String({ pattern: '^([a-z]+)*@$' });",
    'a schema in JSON': "const schema = { type: 'string', pattern: '(\\\\s*,?)*$' };",
  };
  for (const [where, text] of Object.entries(planted)) {
    const { patterns } = patternsOf('planted.ts', text);
    t.equal((await weaknessesOf(patterns)).length, 1, where);
  }
  for (const text of ['new RegExp(given);', "const s = { pattern: '^' + given };", 'text.search(given);']) {
    t.equal(patternsOf('planted.ts', text).unreadable.length, 1, text);
  }
});
