import { readFile } from 'node:fs/promises';
import { check } from 'recheck';
import t from 'tap';
import { root } from '../../tools/root.js';
import { makeDatabase, type TestDatabase } from '../setup/database.js';
import { list } from '../setup/source.js';
import { type Pattern, patternsInSql, patternsOf } from './patterns.js';

/** Limits by steps and not by time, so that the results do not depend on the load of the machine. */
const LIMITS = { timeout: null, attackTimeout: null, incubationTimeout: null, randomSeed: 1 };

/** The complexity of the expression with its worst text; undefined when the time is linear. */
async function weaknessOf({
  path,
  source,
  flags,
}: Pattern): Promise<{ description: string; worst: string }[]> {
  const { status, ...found } = await check(source, flags, LIMITS);
  if (status === 'safe') {
    return [];
  }
  const why = 'complexity' in found ? found.complexity.summary : String('error' in found && found.error.kind);
  const { pumps = [], suffix = '' } = ('attack' in found && found.attack) || {};
  const worst = pumps.map(({ prefix, pump }) => prefix + pump.repeat(20_000)).join('') + suffix;
  return [{ description: `${path}: /${source}/${flags} is ${status}: ${why}`, worst }];
}

/** The weaknesses of many expressions, one after another: each search uses its own processor. */
async function weaknessesOf(patterns: Pattern[]): Promise<string[]> {
  const weaknesses: string[] = [];
  for (const pattern of patterns) {
    weaknesses.push(...(await weaknessOf(pattern)).map(({ description }) => description));
  }
  return weaknesses;
}

/** Two counts are inserted into the pattern of decimal numbers, whose parts start with different characters. */
const OF_DECIMALS = /^src\/validation\/schemas\.ts: `\^\(0\|/;
/** The names of fields are inserted; a match begins with the quotation mark of one, and its time has none. */
const OF_TIMES = /^src\/resource\/json-response\.ts: /;
/** AUTH_CLUBS_PATTERN is set by the operator, and matched by RE2: test/api/clubs-pattern.test.ts. */
const OF_THE_OPERATOR = /^src\/auth\/(clubs-pattern|club-roles|settings)\.ts: /;

t.test('every regular expression of the source takes linear time', async (t) => {
  const paths = [...(await list('src')).files, ...(await list('client/src')).files];
  const read = await Promise.all(
    paths
      .filter((path) => path.endsWith('.ts'))
      .map(async (path) => patternsOf(path, await readFile(`${root}${path}`, 'utf8'))),
  );
  const patterns = read.flatMap((module) => module.patterns);
  t.ok(patterns.length > 30, `${patterns.length} regular expressions`);
  t.same(
    read
      .flatMap(({ unreadable }) => unreadable)
      .filter((one) => ![OF_THE_OPERATOR, OF_DECIMALS, OF_TIMES].some((known) => known.test(one))),
    [],
    'each is a literal at the place of use',
  );
  t.same(await weaknessesOf(patterns), []);
});

t.test('every regular expression of the database that reads request data takes linear time', async (t) => {
  const { files } = await list('sql');
  const chapters = files.filter((path) => /^sql\/(migrations|policies)\//.test(path));
  const patterns = (await Promise.all(chapters.map(patternsInSql))).flat();
  t.ok(
    patterns.some(({ source }) => source === '^[a-z0-9]+(-[a-z0-9]+)*$'),
    'the pattern of a slug is among them',
  );
  t.same(await weaknessesOf(patterns), []);
});

t.test(
  'the regular expressions of the audit are fast in PostgreSQL, even if they are slow in other engines',
  async (t) => {
    const { files } = await list('sql/audit');
    const chapters = files.filter((path) => path.endsWith('.sql'));
    const patterns = (await Promise.all(chapters.map(patternsInSql))).flat();
    t.ok(patterns.length > 30, `${patterns.length} regular expressions`);
    const db = await makeDatabase(t);
    const slow: string[] = [];
    let tried = 0;
    for (const pattern of patterns) {
      for (const { description, worst } of await weaknessOf(pattern)) {
        t.not(worst, '', description);
        tried += 1;
        slow.push(...((await isFast(db, pattern.written, worst)) ? [] : [description]));
      }
    }
    t.ok(tried > 0, `${tried} that another engine would be slow with`);
    t.same(slow, []);
    // PostgreSQL backtracks only with back references.
    const text = `${'a'.repeat(400)}x${'a'.repeat(400)}yb`;
    t.notOk(await isFast(db, '^(\\w*)(\\w*)(\\w*)\\1x\\2y\\3$', text), 'a slow one is found');
  },
);

/** Whether PostgreSQL matches the text within a limit that only backtracking exceeds; the text has no NUL. */
async function isFast(db: TestDatabase, pattern: string, text: string): Promise<boolean> {
  await db.queryAsAdmin("set statement_timeout = '10s'");
  const values = [text.replaceAll('\0', '\x01'), pattern];
  return db.queryAsAdmin("select regexp_replace($1, $2, '', 'gi')", values).then(
    () => true,
    ({ code }) => {
      t.equal(code, '57014');
      return false;
    },
  );
}

t.test('a slow regular expression is found in every kind of place', async (t) => {
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
