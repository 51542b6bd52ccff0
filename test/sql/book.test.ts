import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { sqlDirectory } from '../../src/deploy/release.js';
import { listTasks, taskOrders } from '../../src/tasks/queries.js';
import { hasPsql } from '../setup/database.js';
import { prepared, readStatementOf } from '../setup/read-statement.js';
import { callerOf } from '../setup/work.js';
import { type Block, blocksOf, isAsPrinted, PAGES, readPage } from './book/blocks.js';
import { startReader } from './book/reader.js';

/** The PostgreSQL version of sql/snapshot.txt: the embedded one. */
const SNAPSHOT_MAJOR = '18';

const reader = await startReader(t);
const blocks = PAGES.flatMap(blocksOf);
const needsPsql = ({ language, text }: Block) => language === 'sh' && /\bpsql\b/.test(text);

/** Runs a block; a block that is a file of sql/ is written to the reader's checkout. */
async function run({ language, heading, text }: Block): Promise<string> {
  if (heading.endsWith('.sql')) {
    await writeFile(join(reader.checkout, heading), text);
    return '';
  }
  return language === 'sh' ? reader.shell(text) : reader.query(heading, text);
}

/** The single value of a query of the auditor. */
const queryAsAuditor = async (query: string) => (await reader.query('club_auditor', query)).trim();
const [major, fingerprint] = [
  await queryAsAuditor(`select current_setting('server_version_num')::int / 10000;`),
  await queryAsAuditor('select audit.fingerprint();'),
];

// In order, because blocks depend on earlier ones; without psql the blocks that need it are skipped.
const surprises = new Map<Block, string>();
const isPsqlHere = hasPsql();
for (const block of blocks.filter((each) => isPsqlHere || !needsPsql(each))) {
  const output = await run(block);
  if (!isAsPrinted(block.printed, output)) {
    surprises.set(block, `${block.place} prints:\n${output}`);
  }
}
const surprisesOf = (isMeant: (block: Block) => boolean) =>
  [...surprises].filter(([block]) => isMeant(block)).map(([, surprise]) => surprise);

t.test('the SQL of the book, run in order, prints what the book shows', async (t) => {
  t.same(
    surprisesOf((block) => !needsPsql(block)),
    [],
  );
  t.ok(blocks.length > 40 && blocks.every(({ heading, language }) => heading !== '' || language === 'sh'));
});

t.test(
  'the shell commands of the book print what the book shows',
  { skip: !isPsqlHere && 'psql is missing; install postgresql-client' },
  async (t) => {
    t.same(surprisesOf(needsPsql), []);
    t.ok(blocks.some(needsPsql));
  },
);

t.test('the prepared read of the book is the statement of GET /api/tasks', async (t) => {
  const [, printed = ''] = /prepare list_tasks as\n(.*?);\n/s.exec(readPage('README.md')) ?? [];
  const page = { order: taskOrders.createdAt, descending: true, limit: 20, after: undefined, scope: '' };
  const folded = (text: string) => text.replaceAll(/\s+/g, ' ').replaceAll('( ', '(').trim();
  const caller = callerOf('11111111-1111-4111-8111-111111111111');
  const { text } = prepared(readStatementOf(caller, listTasks({}, page), 'listTasks'));
  t.equal(folded(printed), folded(text));
});

t.test('the fingerprint of a fresh deploy equals the SHA-256 of snapshot.txt', async (t) => {
  const meant = createHash('sha256').update(readPage('snapshot.txt')).digest('hex');
  t.equal(fingerprint === meant, major === SNAPSHOT_MAJOR);
  t.match(readPage('README.md'), `was made with, ${SNAPSHOT_MAJOR},`);
});

t.test('the comparison with the book notices differences', async (t) => {
  t.ok(isAsPrinted(' a | …\n', ' a   | 1 \n\n'));
  t.ok(isAsPrinted('a\n…\n', 'a\nb\nc\n'));
  t.notOk(isAsPrinted('', 'a\n'));
  t.notOk(isAsPrinted(' a\n', ' a\n b\n'));
  t.notOk(isAsPrinted(' a | …\n', ' a | 1\n b | 2\n'));
  t.notOk(isAsPrinted(' a.\n', ' ab\n'));
});

t.test('every file, object, check and splinter lint in the book exists', async (t) => {
  const pages = PAGES.map((page) => ({ url: new URL(page, sqlDirectory), text: readPage(page) }));
  const links = pages.flatMap(({ url, text }) =>
    [...text.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => new URL(link, url)),
  );
  t.same(
    links.filter((link) => link.protocol === 'file:' && !existsSync(link)).map(String),
    [],
    'every link points to a file',
  );
  t.ok(links.length > 20);
  const makefile = readPage('../Makefile');
  const targets = pages.flatMap(({ text }) => [...text.matchAll(/`make (\w+)/g)].map(([, target]) => target));
  t.same(
    targets.filter((target) => !makefile.includes(`\n${target}: `)),
    [],
    'every make target exists',
  );

  const names = pages.flatMap(({ text }) =>
    [...text.matchAll(/`((?:app|audit|deploy)\.\w+)/g)].map(([, name]) => name),
  );
  t.equal(
    await queryAsAuditor(`
      select string_agg(name, ', ') from unnest('{${names.join(',')}}'::text[]) as name
      where not exists (
        select from pg_class where format('%s.%s', relnamespace::regnamespace, relname) = name
        union all
        select from pg_proc where format('%s.%s', pronamespace::regnamespace, proname) = name
      );`),
    '',
    'every object is in the catalog',
  );
  t.ok(names.length > 20);

  const [, lints = ''] = readPage('audit/README.md').split("## Supabase's lints\n");
  const codes = [...lints.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, code = '']) => code);
  const checks = await queryAsAuditor(`select string_agg(code, ' ') from audit.checks;`);
  const rules = [...readPage('lint.sql').matchAll(/^-- (\w+): /gm)].map(([, rule = '']) => rule);
  t.same(
    codes.filter((code) => !checks.split(' ').includes(code) && !rules.includes(code)),
    [],
    'every code is a check of the audit or a rule of the lint',
  );
  const numbers = [...lints.matchAll(/\b(00\d{2})\b/g)].map(([, number]) => number);
  t.same(
    numbers.sort(),
    Array.from({ length: 29 }, (_, index) => String(index + 1).padStart(4, '0')),
    'no lint is missing',
  );
});
