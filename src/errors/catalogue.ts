import { STATUS_CODES } from 'node:http';
import { REQUEST_ID } from '../examples.js';
import * as auth from './auth.js';
import * as conflict from './conflict.js';
import { type ErrorType, Problem } from './problem.js';
import * as request from './request.js';
import * as server from './server.js';

/** The errors of every resource. */
const common: readonly ErrorType[] = [request, auth, conflict, server].flatMap((topic) =>
  Object.values<ErrorType>(topic),
);

/**
 * All errors: the common ones, those of the resources and those that a setting adds. Responses, the OpenAPI document, the
 * pages below /problems and docs/errors.md use them.
 */
export class Catalogue {
  /** Ordered by status, then by code. */
  readonly types: readonly ErrorType[];
  readonly #bySqlState: ReadonlyMap<string, ErrorType>;
  readonly #byConstraint: ReadonlyMap<string, ErrorType>;

  /** @throws Error when two errors have the same code, SQLSTATE or constraint */
  constructor(
    resources: readonly { errors: readonly ErrorType[] }[] = [],
    ofSettings: readonly ErrorType[] = [],
  ) {
    this.types = [...common, ...resources.flatMap(({ errors }) => errors), ...ofSettings].sort(
      (one, other) => one.status - other.status || (one.code < other.code ? -1 : 1),
    );
    indexed(this.types, 'code', ({ code }) => code);
    this.#bySqlState = indexed(this.types, 'SQLSTATE', sqlStatesOf);
    this.#byConstraint = indexed(this.types, 'constraint', ({ constraint }) => constraint ?? []);
  }

  /** The error of an SQLSTATE that the project defines. */
  ofSqlState(sqlState: string): ErrorType | undefined {
    return this.#bySqlState.get(sqlState);
  }

  /** The error of a violated constraint. */
  ofConstraint(name: string | undefined): ErrorType | undefined {
    return name === undefined ? undefined : this.#byConstraint.get(name);
  }
}

/** The SQLSTATEs of an error. */
export function sqlStatesOf({ sqlState, detailBySqlState = {} }: ErrorType): string[] {
  return [sqlState ?? [], Object.keys(detailBySqlState)].flat();
}

function indexed(types: readonly ErrorType[], name: string, keysOf: (type: ErrorType) => string | string[]) {
  const index = new Map<string, ErrorType>();
  for (const type of types) {
    for (const key of [keysOf(type)].flat()) {
      const other = index.get(key);
      if (other !== undefined) {
        throw new Error(`The errors ${other.code} and ${type.code} have the same ${name}: ${key}.`);
      }
      index.set(key, type);
    }
  }
  return index;
}

/** The example of an error for its page: the request, and the status and body of the response. */
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
