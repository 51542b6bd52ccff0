import type { History } from '../history.js';
import { checkAnswers, checkTenants } from './answers.js';
import { checkAttendance } from './attendance.js';
import { checkFeeds } from './feeds.js';
import { checkLists } from './lists.js';
import { checkMemberships } from './memberships.js';
import { checkQueues } from './queues.js';
import { checkRows } from './rows.js';
import { checkSignups } from './signups.js';
import { type Verdict, VIOLATIONS, type Violation } from './verdict.js';

/** Checks a history: the clients' responses against the database at the end. Independent of how it was recorded. */
export function check(history: History): Verdict {
  const verdict = Object.fromEntries(VIOLATIONS.map((violation) => [violation, [] as string[]])) as Verdict;
  const report = (violation: Violation, proof: string) => verdict[violation].push(proof);
  const { tasks, shifts } = history.finalState;
  checkAnswers(history, report);
  checkTenants(history, report);
  checkRows(history, { name: 'task', change: 'patch task', finalRows: tasks }, report);
  checkRows(history, { name: 'shift', change: 'put shift', finalRows: shifts }, report);
  checkLists(history, report);
  checkSignups(history, report);
  checkAttendance(history, report);
  checkFeeds(history, report);
  checkQueues(history, report);
  checkMemberships(history, report);
  return verdict;
}
