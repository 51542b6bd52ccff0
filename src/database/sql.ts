/**
 * SQL statements as tagged templates. Every `${value}` becomes a parameter; only another statement becomes SQL text.
 */

export type Value = string | number | boolean | null;

/** SQL text in parts, with a parameter between each two. */
export interface Statement {
  readonly strings: TemplateStringsArray;
  readonly values: readonly Value[];
}

/** A statement that returns rows of this type. Only a read or a transaction runs it. */
export interface Query<Row> extends Statement {
  /** Carries the type; never set at run time. */
  readonly row?: Row;
}

/**
 * A cache of composed statements, by the templates of their parts. The same parts give the same template object, so a
 * template identifies its text, also for the driver. The combinations in the code bound the size of the cache.
 */
interface Composed {
  template: TemplateStringsArray | undefined;
  /** The next part, by the template of its statement; VALUE for any parameter. */
  next: Map<TemplateStringsArray | typeof VALUE, Composed>;
}

const VALUE = Symbol('value');
const composed = new Map<TemplateStringsArray, Composed>();

/** Creates a statement: sql`select title from app.tasks where id = ${id}`. */
export function sql(strings: TemplateStringsArray, ...parts: (Value | Statement)[]): Statement {
  if (!parts.some(isStatement)) {
    return { strings, values: parts.map(checked) };
  }
  const values: Value[] = [];
  let found = nextOf(composed, strings);
  for (const part of parts) {
    if (isStatement(part)) {
      values.push(...part.values);
      found = nextOf(found.next, part.strings);
    } else {
      values.push(checked(part));
      found = nextOf(found.next, VALUE);
    }
  }
  found.template ??= compose(strings, parts);
  return { strings: found.template, values };
}

const operations = new Map<string, Statement>();

/**
 * The comment at the start of a statement: pg_stat_statements and pg_stat_activity show which operation sent it.
 *
 * @param name an identifier, such as `listTasks`
 */
export function operation(name: string): Statement {
  let comment = operations.get(name);
  if (comment === undefined) {
    if (!/^\w+$/.test(name)) {
      throw new TypeError(`${name} is not an identifier`);
    }
    const pieces = [`/* ${name} */`];
    comment = { strings: Object.assign(pieces, { raw: pieces }), values: [] };
    operations.set(name, comment);
  }
  return comment;
}

/** Joins statements with a separator, such as ` and ` or a comma. */
export function join(statements: Statement[], separator: Statement): Statement {
  return statements.reduce((all, next) => sql`${all}${separator}${next}`);
}

/** Joins values with commas, for `in (…)`. */
export function joinValues(values: readonly Value[]): Statement {
  return join(
    values.map((value) => sql`${value}`),
    sql`, `,
  );
}

/**
 * The condition that a column contains a text in any case. Capitals are compared, because a letter can have two small
 * forms: the Greek sigma has another one at the end of a word. Wildcards are escaped.
 */
export function contains(column: Statement, text: string): Statement {
  const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
  return sql`upper(${column}) like upper(${pattern} collate "und-x-icu")`;
}

function nextOf<Key>(from: Map<Key, Composed>, key: Key): Composed {
  let found = from.get(key);
  if (found === undefined) {
    found = { template: undefined, next: new Map() };
    from.set(key, found);
  }
  return found;
}

function compose(strings: TemplateStringsArray, parts: (Value | Statement)[]): TemplateStringsArray {
  const pieces = [strings[0] ?? ''];
  const append = (text: string | undefined) => {
    pieces.push((pieces.pop() ?? '') + text);
  };
  parts.forEach((part, index) => {
    if (isStatement(part)) {
      append(part.strings[0]);
      pieces.push(...part.strings.slice(1));
    } else {
      pieces.push('');
    }
    append(strings[index + 1]);
  });
  return Object.assign(pieces, { raw: pieces });
}

function isStatement(part: Value | Statement | undefined): part is Statement {
  return typeof part === 'object' && part !== null;
}

/** Rejects undefined, which would be sent as the text "undefined". */
function checked(value: Value | Statement): Value {
  if (value === undefined || isStatement(value)) {
    throw new TypeError('A parameter is undefined. Pass null for a missing value.');
  }
  return value;
}
