/**
 * Statements: SQL as tagged templates. Every `${value}` becomes a parameter, so no text is ever pasted into SQL;
 * only another statement can be put into a statement.
 */

export type Value = string | number | boolean | null;

/** SQL text in pieces, with the parameters between them. */
export interface Statement {
  readonly strings: TemplateStringsArray;
  readonly values: readonly Value[];
}

/** A statement that answers with rows of this shape: nothing runs it but a read or a transaction. */
export interface Query<Row> extends Statement {
  /** Exists for the compiler only. */
  readonly row?: Row;
}

/**
 * Composed texts, each kept once, by the templates that they are composed of: a template's identity is that of its
 * text, for this and for who prepares it. There are as many as the code can compose, so this stays small.
 */
interface Composed {
  template: TemplateStringsArray | undefined;
  /** Where the next part is a statement of this template; a value stands for itself. */
  next: Map<TemplateStringsArray | typeof VALUE, Composed>;
}

const VALUE = Symbol('value');
const composed = new Map<TemplateStringsArray, Composed>();

/** Makes a statement: sql`select title from app.tasks where id = ${id}`. */
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
 * The comment that a statement begins with, so that pg_stat_statements and pg_stat_activity tell operations apart.
 *
 * @param name an identifier, such as `listTasks`
 */
export function operation(name: string): Statement {
  let comment = operations.get(name);
  if (comment === undefined) {
    if (!/^\w+$/.test(name)) {
      throw new TypeError(`${name} is no identifier`);
    }
    const pieces = [`/* ${name} */`];
    comment = { strings: Object.assign(pieces, { raw: pieces }), values: [] };
    operations.set(name, comment);
  }
  return comment;
}

/** Joins statements: conditions with `and`, columns with a comma. */
export function join(statements: Statement[], separator: Statement): Statement {
  return statements.reduce((all, next) => sql`${all}${separator}${next}`);
}

/** Values with commas between, for `in (…)`. */
export function joinValues(values: readonly Value[]): Statement {
  return join(
    values.map((value) => sql`${value}`),
    sql`, `,
  );
}

/** A pattern for ILIKE that finds the text anywhere, and takes it literally. */
export function containing(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
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

/** An undefined parameter would be sent as that word. */
function checked(value: Value | Statement): Value {
  if (value === undefined || isStatement(value)) {
    throw new TypeError('A parameter is undefined; a missing value is null.');
  }
  return value;
}
