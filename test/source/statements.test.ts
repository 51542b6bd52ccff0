// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the planted programs are texts that hold templates
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import ts from 'typescript';
import { root } from '../../tools/root.js';
import { list } from '../setup/source.js';
import { builtStatements } from './statements.js';

/** Places where a non-constant text is sent to PostgreSQL, and why that is safe. */
const exceptions: { because: string; calls: string[] }[] = [
  {
    because: 'It splits a statement for the driver, and only the tag sql creates statements.',
    calls: ['src/database/connection.ts: #sql(template)'],
  },
  {
    because: 'PostgreSQL quotes the names of tables with format(%I); a lock takes no parameter.',
    calls: ['src/deploy/deploy.ts: query(`lock table ${rows[0].names} in access exclusive mode`)'],
  },
  {
    because: 'PostgreSQL makes the statement with format(%I) of names in its catalog.',
    calls: ['tools/demo.ts: query(update)', 'tools/demo.ts: query(insert)'],
  },
  {
    because: 'They are files: migrations, chapters, rules of the lint, and what an administrator runs once.',
    calls: [
      'src/deploy/deploy.ts: query(text)',
      'src/deploy/migrations.ts: query(step)',
      'src/deploy/migrations.ts: sql(step)',
      'tools/migration-lint.ts: query(statement)',
      'tools/migration-lint.ts: query(statement)',
      "tools/schema-lint.ts: query({ text: query, rowMode: 'array' })",
      'tools/development-database.ts: query(readRolesFile())',
      'tools/test-cluster.ts: query(readRolesFile())',
    ],
  },
  {
    because: 'The names of tables and columns are those of the catalog, quoted.',
    calls: [
      'src/club-files/export.ts: query(cursor)',
      'src/club-files/import.ts: query(insertion)',
      'src/club-files/tables.ts: query(summary)',
    ],
  },
  {
    because:
      'It names databases and logins after random digits and the project’s roles, on a server for tests.',
    calls: [
      'tools/test-cluster.ts: query(`create database ${template}`)',
      'tools/test-cluster.ts: query(`grant create on database ${template} to club_owner`)',
      'tools/test-cluster.ts: query(`drop database if exists ${datname} with (force)`)',
      'tools/test-cluster.ts: query(`drop role ${role}`)',
      "tools/test-cluster.ts: query(`alter role ${role} password '${password}'`)",
      "tools/test-cluster.ts: query(`create role ${user} login password '${password}' in role ${role}`)",
      "tools/test-cluster.ts: query(`alter role ${user} set ${name} = ${name === 'search_path' ? value : admin.escapeLiteral(value)}`)",
    ],
  },
];

const head = `
  import pg from 'pg';
  import type { Connection } from './database/connection.js';
  import { sql } from './database/sql.js';
  import type { Transaction } from './database/transaction.js';
  const TABLE = 'app.tasks';
  export async function planted(client: pg.Client, tx: Transaction, connection: Connection, given: string) {
`;
const bad = [
  'client.query(`select ${given}`)',
  "client.query('select ' + given)",
  "client.query(['select', given].join(' '))",
  'client.query({ text: `select ${given}` })',
  'client.query(given as any)',
  'client.query(given)',
  'client.query(`select from ${TABLE} where title = ${given}`)',
  "client.query(`create database ${client.escapeIdentifier('a')} owner ${given}`)",
];
const good = [
  'client.query(`select from ${TABLE} where id = $1`, [given])',
  'client.query(`drop database ${client.escapeIdentifier(given)}`)',
  "client.query(given === '' ? 'begin' : 'commit')",
  'tx.query(sql`select ${given}`)',
  'connection.query(sql`select ${given}`)',
];
const byHand = '{ strings: [given] as never, values: [] }';
const asFunction = 'sql([`select ${given}`] as never)';
const found = builtStatements({
  'src/planted-bad.ts': `${head}${bad.map((line) => `await ${line};`).join('\n')}}`,
  'src/planted-good.ts': `${head}${good.map((line) => `await ${line};`).join('\n')}}`,
  'src/planted-by-hand.ts': `${head} await tx.query(${byHand}); await connection.query(${byHand}); await tx.query(${asFunction}); }`,
});
const of = (planted: boolean) => found.filter((line) => line.startsWith('src/planted-') === planted);

t.test('no statement is built from strings: SQL is a literal, or made by the tag sql', async (t) => {
  t.same(of(false).sort(), exceptions.flatMap(({ calls }) => calls).sort());
});

t.test('a statement built from strings is found, in every form', async (t) => {
  const missed = bad.filter((line) => {
    const call = line.slice(line.indexOf('.') + 1);
    return !found.some((finding) => finding === `src/planted-bad.ts: ${call}`);
  });
  t.same(missed, []);
  t.ok(found.includes(`src/planted-by-hand.ts: ${asFunction}`), 'the tag as a function');
  t.equal(found.filter((line) => line.endsWith('a statement made by hand')).length, 2);
});

t.test('constants, quoted names and parameters are not reported', async (t) => {
  t.same(
    found.filter((line) => line.startsWith('src/planted-good.ts')),
    [],
  );
});

t.test('any(…) has no cast of a text[]: it would be computed for each row, without an index', async (t) => {
  // In parentheses within parentheses, such as any(${ids.map(({ id }) => id)}::text[]::uuid[]). A subquery is computed once.
  const cast =
    /\bany\s*\(\s*(?!\(\s*select\b)(?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*?text\[\]\s*::/i;
  t.match('id = any($1::text[]::uuid[])', cast);
  t.match('id = any (${rows.map(({ id }) => id)}::text[]::uuid[])', cast);
  t.notMatch('id = any($1::uuid[]) and name = any($2::text[])', cast);
  t.notMatch('id = any((select $1::text[]::uuid[])::uuid[])', cast);
  t.notMatch('name = any($1) from unnest($1::text[]::date[])', cast);
  for (const path of [...(await list('src')).files, ...(await list('sql')).files]) {
    const [found] = cast.exec(await readFile(join(root, path), 'utf8')) ?? [];
    t.equal(
      found,
      undefined,
      `${path}: let the parameter have the type of the column, such as any($1::uuid[])`,
    );
  }
});

/** The conditions of locks that are of one row, although not by its id. */
const ofOneRow: Record<string, string> = {
  'shift_id = ${shiftId} and member_id = ${memberId}': 'A member has one record of a shift.',
  'a.shift_id = record_attendance.shift_id and a.member_id = record_attendance.member_id':
    'A member has one record of a shift.',
  'k.member_id = caller_id and k.key = claim_key.key': 'It is the primary key.',
};

/** Whether a statement locks rows by a condition that can hold for several, in any order. */
function locksUnordered(statement: string): boolean {
  const lock = /^(.*) for (?:(?:no key )?update(?! to\b)|(?:key )?share)\b/.exec(statement);
  const condition = lock?.[1]?.split(' where ').at(-1) ?? '';
  const isOfOneRow = /(^| and )(\w+\.)?id = \S+($| and )/.test(condition) || condition in ofOneRow;
  return lock !== null && !isOfOneRow && !/ order by [^()]*$/.test(condition);
}

/** The statements in SQL, or in the templates of a module. */
function statementsOf(path: string, text: string): string[] {
  if (path.endsWith('.sql')) {
    return text.replaceAll(/--.*/g, '').split(';').map(inOneLine);
  }
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === 'sql') {
      found.push(inOneLine(node.template.getText().slice(1, -1)));
    } else {
      ts.forEachChild(node, visit);
    }
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  return found;
}

const inOneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

t.test('a statement that locks several rows orders them, so that two cannot deadlock', async (t) => {
  const paths = [...(await list('src')).files, ...(await list('sql')).files].filter((path) =>
    /\.(ts|sql)$/.test(path),
  );
  const texts = await Promise.all(paths.map((path) => readFile(join(root, path), 'utf8')));
  const statements = paths.flatMap((path, place) => statementsOf(path, String(texts[place])));
  const locks = statements.filter((statement) => / for (no key )?update(?! to\b)/.test(statement));
  t.ok(locks.length >= 10, 'this test finds the locks');
  t.same(
    statements.filter(locksUnordered),
    [],
    'add `order by id` before the lock, or the condition to ofOneRow',
  );
  t.same(
    [
      'select from app.tasks for update',
      'select from app.tasks where state = $1 for no key update',
      'select array_agg(id order by id) from app.tasks where assignee_id = $1 for share',
      'select from app.tasks where state = $1 order by id for update skip locked',
      'select from app.tasks as task where task.id = $1 for update',
    ].map(locksUnordered),
    [true, true, true, false, false],
  );
});
