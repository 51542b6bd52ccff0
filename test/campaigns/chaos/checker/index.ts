import type { History } from '../history.js';
import { checkAnswers, checkTenants } from './answers.js';
import { checkLists } from './lists.js';
import { checkRows } from './rows.js';
import { checkSignups } from './signups.js';
import { CHARGES, type Charge, type Verdict } from './verdict.js';

/** Checks a history: the clients' answers against the database at the end. Independent of how it was recorded. */
export function check(history: History): Verdict {
  const verdict = Object.fromEntries(CHARGES.map((charge) => [charge, [] as string[]])) as Verdict;
  const accuse = (charge: Charge, proof: string) => verdict[charge].push(proof);
  const { tasks, shifts } = history.finalState;
  checkAnswers(history, accuse);
  checkTenants(history, accuse);
  checkRows(history, { name: 'task', change: 'patch task', finalRows: tasks }, accuse);
  checkRows(history, { name: 'shift', change: 'put shift', finalRows: shifts }, accuse);
  checkLists(history, accuse);
  checkSignups(history, accuse);
  return verdict;
}
