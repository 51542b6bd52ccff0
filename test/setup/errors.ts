import { Catalogue } from '../../src/errors/catalogue.js';
import * as resources from '../../src/resources.js';

/** Every error that the service can return. */
export const errorTypes = new Catalogue(Object.values(resources)).types;

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
