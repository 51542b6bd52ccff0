import { groupBy, type History, isDone, isUnknown } from '../history.js';
import { describe, type Report } from './verdict.js';

/** The newest rows, which are on the first page of any list. */
const NEWEST = 5;
/** With this many unknown creations, the newest known rows may be on a later page. */
const CROWD = 40;

/** Checks that a list has every row that was created before the request and not deleted. */
export function checkLists({ operations }: History, report: Report): void {
  for (const [, ofClub] of groupBy(operations, ({ club }) => club)) {
    const creations = ofClub.filter(({ kind }) => kind === 'create task');
    const made = creations.filter(isDone).sort((a, b) => a.returned - b.returned);
    const doubtful = creations.filter(isUnknown);
    const deletions = new Map<string, number>();
    for (const { kind, target, called } of ofClub) {
      if (kind === 'delete task' && target !== undefined) {
        deletions.set(target, Math.min(called, deletions.get(target) ?? called));
      }
    }
    let next = 0;
    const lists = ofClub.filter((operation) => operation.kind === 'list tasks' && isDone(operation));
    for (const list of lists.sort((a, b) => a.called - b.called)) {
      while ((made[next]?.returned ?? Number.POSITIVE_INFINITY) < list.called) {
        next += 1;
      }
      const seen = new Set(list.rows.map(({ id }) => id));
      for (const creation of made.slice(Math.max(0, next - NEWEST), next)) {
        const id = creation.rows[0]?.id ?? '';
        const isKept = (deletions.get(id) ?? Number.POSITIVE_INFINITY) > list.returned;
        const isCrowded = () =>
          doubtful.filter(({ called, returned }) => returned > creation.called && called < list.returned)
            .length > CROWD;
        if (isKept && !seen.has(id) && !isCrowded()) {
          report('anomalies', `${describe(list)} misses ${id}`);
        }
      }
    }
  }
}
