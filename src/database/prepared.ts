import { serialize } from 'pg-protocol/dist/serializer';
import type { Statement, Value } from './sql.js';

/** A statement's text as PostgreSQL reads it, and the name that every session prepares it under. */
export interface Prepared {
  /** Its first word and a number, for whoever looks into pg_prepared_statements. */
  name: string;
  text: string;
}

/** By the pieces of the template, whose identity is that of the text. */
const all = new Map<TemplateStringsArray, Prepared>();

/** What a statement is prepared as: the same for all statements of one text. */
export function prepared({ strings }: Statement): Prepared {
  let found = all.get(strings);
  if (found === undefined) {
    const text = strings.reduce((head, piece, index) => `${head}$${index}${piece}`);
    const word = /\w+/.exec(text)?.[0].toLowerCase();
    found = { name: `${word}_${all.size + 1}`, text };
    all.set(strings, found);
  }
  return found;
}

const EXECUTE = serialize.execute();
const DESCRIBE = serialize.describe({ type: 'P' });

/** Asks to run a statement that the session has prepared and described before. */
export function again({ name }: Prepared, { values }: Statement): Buffer[] {
  return [bind(name, values), EXECUTE];
}

/** Asks to prepare, describe and run a statement. */
export function first({ name, text }: Prepared, { values }: Statement): Buffer[] {
  // Whether an attempt that failed has prepared it does not matter: to close what is not there is no error.
  return [
    serialize.close({ type: 'S', name }),
    serialize.parse({ name, text }),
    bind(name, values),
    DESCRIBE,
    EXECUTE,
  ];
}

/** The same without a name, for a backend that is another one the next time. */
export function once({ text }: Prepared, { values }: Statement): Buffer[] {
  return [serialize.parse({ text }), bind('', values), DESCRIBE, EXECUTE];
}

function bind(statement: string, values: readonly Value[]): Buffer {
  return serialize.bind({ statement, values: values as Value[], valueMapper: toText });
}

function toText(value: Value): string | null {
  return value === null ? null : String(value);
}
