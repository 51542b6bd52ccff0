import t from 'tap';
import {
  contains,
  join,
  joinValues,
  operation,
  type Statement,
  sql,
  type Value,
} from '../../src/database/sql.js';

/** A statement as it is sent to PostgreSQL. */
function sent({ strings, values }: Statement): [string, ...Value[]] {
  const text = strings.reduce((all, piece, index) => `${all}$${index}${piece}`);
  return [text, ...values];
}

t.test('every value becomes a parameter, in order', (t) => {
  t.same(sent(sql`select 1`), ['select 1']);
  t.same(sent(sql`select ${1}, ${'two'}, ${true}, ${null}`), ['select $1, $2, $3, $4', 1, 'two', true, null]);
  t.same(sent(sql`${'first'}${'second'}`), ['$1$2', 'first', 'second']);
  t.same(sent(sql`select ${"'; drop table app.tasks; --"}`), ['select $1', "'; drop table app.tasks; --"]);
  t.end();
});

t.test('an array of texts is one parameter', (t) => {
  const items = ['bar', 'a,b', '"\\'];
  t.same(sent(sql`title = any(${items}) and ${[]} = tags`), [
    'title = any($1) and $2 = tags',
    '{"bar","a,b","\\"\\\\"}',
    '{}',
  ]);
  t.end();
});

t.test('a nested statement becomes part of the text, and the parameters keep their order', (t) => {
  const inner = sql`state = ${'Open'} and due_at < ${'2026-01-01T00:00:00Z'}`;
  t.same(sent(sql`select * from ${sql`app.tasks`}`), ['select * from app.tasks']);
  t.same(sent(sql`${inner}`), ['state = $1 and due_at < $2', 'Open', '2026-01-01T00:00:00Z']);
  t.same(sent(sql`a = ${1} and ${inner} and ${inner} and z = ${9}`), [
    'a = $1 and state = $2 and due_at < $3 and state = $4 and due_at < $5 and z = $6',
    ...[1, 'Open', '2026-01-01T00:00:00Z', 'Open', '2026-01-01T00:00:00Z', 9],
  ]);
  t.same(sent(sql`${sql`a = ${1}`}${sql``}${sql`, b = ${2}`}`), ['a = $1, b = $2', 1, 2]);
  t.same(sent(sql`(${sql`not ${sql`x = ${1}`}`})`), ['(not x = $1)', 1]);
  t.end();
});

t.test('join puts a separator between statements', (t) => {
  const conditions = [sql`a = ${1}`, sql`b is null`, sql`c = ${3}`];
  t.same(sent(join(conditions, sql` and `)), ['a = $1 and b is null and c = $2', 1, 3]);
  t.same(sent(join([sql`only ${1}`], sql`, `)), ['only $1', 1]);
  t.end();
});

t.test('joinValues makes each value a separate parameter', (t) => {
  t.same(sent(sql`state in (${joinValues(['Open', 'Done'])})`), ['state in ($1, $2)', 'Open', 'Done']);
  t.same(sent(joinValues([null])), ['$1', null]);
  t.same(sent(sql`state in (${joinValues([])})`), ['state in (null)']);
  t.end();
});

t.test('the condition that a column contains a text escapes the text', (t) => {
  const condition = 'upper(title) like (select upper($1 collate "und-x-icu")) collate "und-x-icu"';
  t.same(sent(contains(sql`title`, '100% of_a\\b')), [condition, '%100\\% of\\_a\\\\b%']);
  t.same(sent(contains(sql`title`, '')), [condition, '%%']);
  t.end();
});

t.test('an operation name becomes a comment; only an identifier is accepted', (t) => {
  t.same(sent(sql`${operation('listTasks')}select ${1}`), ['/* listTasks */select $1', 1]);
  for (const name of ['', 'a b', 'x */ drop table app.tasks; /*', 'a-b', 'naïve', 'a\nb']) {
    t.throws(() => operation(name), TypeError, JSON.stringify(name));
  }
  t.end();
});

t.test('texts that differ only in the place of a dollar sign are different statements', (t) => {
  const inner = sql`'a'`;
  t.same(sent(sql`select ${inner} ~ 'x${1}y'`), ["select 'a' ~ 'x$1y'", 1]);
  t.same(sent(sql`select ${inner} ~ 'x$y'`), ["select 'a' ~ 'x$y'"]);
  t.same(sent(sql`select ${inner} || $$${1}`), ["select 'a' || $$$1", 1]);
  t.same(sent(sql`select ${inner} || ${1}$$`), ["select 'a' || $1$$", 1]);
  t.end();
});

t.test('an undefined value is rejected at once: absence is null', (t) => {
  const missing = undefined as unknown as Value;
  t.throws(() => sql`select ${missing}`, TypeError);
  t.throws(() => sql`select ${1} from ${sql`app.tasks`} where id = ${missing}`, TypeError);
  t.end();
});
