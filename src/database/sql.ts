/**
 * Statements: SQL as tagged templates. Every `${value}` becomes a parameter, so no text is ever pasted into SQL;
 * only another statement can be put into a statement.
 */

export type Value = string | number | boolean | null;

/** SQL text in pieces, with the parameters that stand between them. */
export interface Statement {
  readonly strings: TemplateStringsArray;
  readonly values: readonly Value[];
}

/**
 * Composed texts, each kept once. The driver remembers the pieces of a template by identity, and there are as
 * many texts as the code can compose, so this stays small.
 */
const composed = new Map<string, TemplateStringsArray>();

/** Makes a statement: sql`select title from app.tasks where id = ${id}`. */
export function sql(strings: TemplateStringsArray, ...parts: (Value | Statement)[]): Statement {
  if (!parts.some(isStatement)) {
    return { strings, values: parts.map(checked) };
  }
  const pieces: string[] = [];
  const values: Value[] = [];
  let piece = strings[0] ?? '';
  parts.forEach((part, index) => {
    if (isStatement(part)) {
      const inner = [...part.strings];
      const last = inner.pop() ?? '';
      for (const text of inner) {
        pieces.push(piece + text);
        piece = '';
      }
      piece += last;
      values.push(...part.values);
    } else {
      pieces.push(piece);
      piece = '';
      values.push(checked(part));
    }
    piece += strings[index + 1];
  });
  return { strings: templateOf([...pieces, piece]), values };
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

function templateOf(pieces: string[]): TemplateStringsArray {
  // NUL is the one character that no SQL text holds.
  const key = pieces.join('\0');
  let template = composed.get(key);
  if (template === undefined) {
    template = Object.assign([...pieces], { raw: pieces });
    composed.set(key, template);
  }
  return template;
}

function isStatement(part: Value | Statement | undefined): part is Statement {
  return typeof part === 'object' && part !== null;
}

/** An undefined parameter on a busy connection makes the driver give one query another's answer. */
function checked(value: Value | Statement): Value {
  if (value === undefined || isStatement(value)) {
    throw new TypeError('A parameter is undefined; a missing value is null.');
  }
  return value;
}
