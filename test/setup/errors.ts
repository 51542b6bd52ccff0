import { Catalogue } from '../../src/errors/catalogue.js';
import * as resources from '../../src/resources.js';

/** Every error that the service can return without TEST_USER_HEADER. */
export const errorTypes = new Catalogue(Object.values(resources)).types;

/** Words that would reveal the implementation to a caller. */
export const IMPLEMENTATION =
  /syntax error|permission denied|relation "|\bapp\.\w|club_api|postgres|sqlstate|\b42501\b|ECONN|node_modules|fastify|\.[jt]s:\d|\n\s+at /i;

/** The codes of all errors. */
export const codes = errorTypes.map(({ code }) => code);

/** The status of a code. */
export function statusOf(code: string): number {
  const type = errorTypes.find((type) => type.code === code);
  if (type === undefined) {
    throw new Error(`There is no code ${code}.`);
  }
  return type.status;
}
