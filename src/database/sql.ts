/**
 * SQL statements as tagged templates. Every `${value}` becomes a parameter; only another statement becomes SQL text.
 */

export type Value = string | number | boolean | null;
/** What a template takes as a parameter. PostgreSQL reads an array of texts as `text[]`, such as in `= any(${ids})`. */
export type Parameter = Value | readonly string[];

/** SQL text in parts, with a parameter between each two. */
export interface Statement {
  readonly strings: readonly string[];
  readonly values: readonly Value[];
}

/** A statement that returns rows of this type. */
export interface Query<Row> extends Statement {
  /** Carries the type; never set at run time. */
  readonly row?: Row;
  /** Whether an index bounds the rows that it reads, so that it may share a connection with other reads. */
  readonly isBounded?: boolean;
}

/** Declares that an index bounds the rows that a query reads, for any values of its parameters. */
export function bounded<Row>(query: Query<Row>, isBounded = true): Query<Row> {
  return { ...query, isBounded };
}

/** Selects each row of a query as JSON: for `Transaction.json`. */
export function asJson(query: Statement): Statement {
  return sql`select row_to_json(result)::text as json from (${query}) as result`;
}

/** Creates a statement: sql`select title from app.tasks where id = ${id}`. */
export function sql(strings: readonly string[], ...parts: (Parameter | Statement)[]): Statement {
  const pieces = [strings[0] ?? ''];
  const values: Value[] = [];
  const append = (text: string | undefined) => {
    pieces.push((pieces.pop() ?? '') + (text ?? ''));
  };
  parts.forEach((part, index) => {
    if (isStatement(part)) {
      const [first, ...others] = part.strings;
      append(first);
      pieces.push(...others);
      values.push(...part.values);
    } else {
      values.push(checked(part));
      pieces.push('');
    }
    append(strings[index + 1]);
  });
  return { strings: pieces, values };
}

/** A statement as node-postgres takes it, which deploys and audits use. */
export interface NumberedStatement {
  text: string;
  values: Value[];
}

/** Writes the parameters of a statement as $1, $2, … */
export function numberParameters({ strings, values }: Statement): NumberedStatement {
  return {
    text: strings.reduce((text, next, number) => `${text}$${number}${next}`),
    values: [...values],
  };
}

/**
 * The comment at the start of a statement: pg_stat_statements and pg_stat_activity show which operation sent it.
 *
 * @param name an identifier, such as `listTasks`
 */
export function operation(name: string): Statement {
  if (!/^\w+$/.test(name)) {
    throw new TypeError(`${name} is not an identifier`);
  }
  return { strings: [`/* ${name} */`], values: [] };
}

/** Joins statements with a separator, such as ` and ` or a comma. */
export function join(statements: Statement[], separator: Statement): Statement {
  return statements.reduce((all, next) => sql`${all}${separator}${next}`);
}

/** Joins values with commas, for `in (…)`. No value is equal to one of none. */
export function joinValues(values: readonly Value[]): Statement {
  if (values.length === 0) {
    return sql`null`;
  }
  return join(
    values.map((value) => sql`${value}`),
    sql`, `,
  );
}

/**
 * The condition that a column contains a text in any case. Capitals are compared, because a letter can have two small
 * forms: the Greek sigma has another one at the end of a word. Wildcards are escaped.
 *
 * The pattern is computed in a subquery: a generic plan computes a function of a parameter again for each row.
 */
export function contains(column: Statement, text: string): Statement {
  const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
  return sql`upper(${column}) like (select upper(${pattern} collate "und-x-icu")) collate "und-x-icu"`;
}

function isStatement(part: Parameter | Statement | undefined): part is Statement {
  return typeof part === 'object' && part !== null && 'strings' in part;
}

/** Rejects undefined, which would be sent as the text "undefined". */
function checked(value: Parameter): Value {
  if (value === undefined) {
    throw new TypeError('A parameter is undefined. Pass null for a missing value.');
  }
  return typeof value === 'object' && value !== null ? arrayLiteral(value) : value;
}

/** An array as PostgreSQL reads it: each item in quotation marks, in which `"` and `\` are escaped. */
function arrayLiteral(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
}
