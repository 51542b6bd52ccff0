import { type ErrorType, Problem } from '../errors/problem.js';

/** The row with an id that the caller named. @throws Problem of the given type when there is none */
export function foundRow<Row>([row]: Row[], notFound: ErrorType): Row {
  if (row === undefined) {
    throw new Problem(notFound);
  }
  return row;
}

/** The row of a query that always returns one. @throws Error when it returned none or several, which is a bug */
export function onlyRow<Row>(rows: Row[]): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1) {
    throw new Error(`A query that returns one row returned ${rows.length}.`);
  }
  return row;
}
