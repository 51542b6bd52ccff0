/** The text of statements that write columns, and the columns of both kinds of rows. */
import type { Random } from '../random.js';
import type { Here, Step } from './step.js';

type Statement = Pick<Step, 'text' | 'values'>;

/** A text of the club. */
export const drawText = (random: Random, { club }: Here) =>
  `${club?.canary ?? 'nowhere'} ${random.between(1, 99)}`;

function valuesOf(set: object): { names: string[]; values: unknown[] } {
  const names = Object.keys(set).map((name) =>
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  return { names, values: Object.values(set) };
}

/** Updates the columns of one row, or of every row. */
export function updating(table: string, set: object, id: string | undefined): Statement {
  const { names, values } = valuesOf(set);
  const assignments = names.map((name, index) => `${name} = $${index + 1}`).join(', ');
  return {
    text: `update app.${table} set ${assignments} ${id === undefined ? '' : `where id = $${names.length + 1}`}`,
    values: id === undefined ? values : [...values, id],
  };
}

/** Inserts a row. */
export function inserting(table: string, set: object): Statement {
  const { names, values } = valuesOf(set);
  const places = names.map((_, index) => `$${index + 1}`).join(', ');
  return { text: `insert into app.${table} (${names.join(', ')}) values (${places}) returning id`, values };
}
