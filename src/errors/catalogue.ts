import { STATUS_CODES } from 'node:http';
import { REQUEST_ID } from '../examples.js';
import * as auth from './auth.js';
import * as conflict from './conflict.js';
import * as fault from './fault.js';
import { type ErrorType, Problem } from './problem.js';
import * as request from './request.js';

/** The errors that belong to no resource. */
const common: readonly ErrorType[] = [request, auth, conflict, fault].flatMap((topic) =>
  Object.values<ErrorType>(topic),
);

/**
 * Every error that an answer can carry: the common ones and those of the resources. The answers, the document, the pages
 * below /problems and docs/errors.md are made of it.
 */
export class Catalogue {
  /** In the order of their status, then of their code. */
  readonly types: readonly ErrorType[];
  readonly #bySqlState: ReadonlyMap<string | undefined, ErrorType>;
  readonly #byConstraint: ReadonlyMap<string | undefined, ErrorType>;

  /** @throws Error when two errors have the same code, SQLSTATE or constraint */
  constructor(resources: readonly { errors: readonly ErrorType[] }[] = []) {
    this.types = [...common, ...resources.flatMap(({ errors }) => errors)].sort(
      (one, other) => one.status - other.status || (one.code < other.code ? -1 : 1),
    );
    indexed(this.types, 'code');
    this.#bySqlState = indexed(this.types, 'sqlState');
    this.#byConstraint = indexed(this.types, 'constraint');
  }

  /** The error that the database raises with an SQLSTATE of the project's own. */
  ofSqlState(sqlState: string): ErrorType | undefined {
    return this.#bySqlState.get(sqlState);
  }

  /** The error that a violated constraint means. */
  ofConstraint(name: string | undefined): ErrorType | undefined {
    return name === undefined ? undefined : this.#byConstraint.get(name);
  }
}

function indexed(types: readonly ErrorType[], by: 'code' | 'sqlState' | 'constraint') {
  const index = new Map<string | undefined, ErrorType>();
  for (const type of types.filter((type) => type[by] !== undefined)) {
    const other = index.get(type[by]);
    if (other !== undefined) {
      throw new Error(`The errors ${other.code} and ${type.code} have the same ${by}: ${type[by]}.`);
    }
    index.set(type[by], type);
  }
  return index;
}

/** The example of an error as its page shows it: a request, and the whole answer. */
export function exampleOf(type: ErrorType): { request: string; status: string; body: string } {
  const { status, example } = type;
  const [, url = ''] = example.request.split(' ');
  const [path = url] = url.split('?');
  const body = new Problem(type, example.members).toBody(path, REQUEST_ID);
  return {
    request: example.request,
    status: `${status} ${STATUS_CODES[status]}`,
    body: JSON.stringify(body, null, 2),
  };
}
