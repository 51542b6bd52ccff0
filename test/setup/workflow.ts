/** The workflow of a task from the contract, to test both HTTP and raw SQL. */
import type { Person } from './send.js';

export const STATES = ['Open', 'Assigned', 'InProgress', 'Review', 'Done'] as const;
export type State = (typeof STATES)[number];

/** The callers whose rights differ. An Open task has no assignee; there the first is any Member. */
export const CALLERS = ['the assignee', 'another Member', 'a Manager'] as const;
export type CallerName = (typeof CALLERS)[number];

/** Who may take a step: any Member, the holder (the assignee or a Manager), no caller; `same` is not a step. */
export type Step = 'same' | 'member' | 'holder' | 'nobody';

/** The step from each state (row) to each state (column, in the order of STATES). */
const steps: Record<State, readonly Step[]> = {
  Open: ['same', 'member', 'nobody', 'nobody', 'nobody'],
  Assigned: ['holder', 'same', 'member', 'nobody', 'nobody'],
  InProgress: ['nobody', 'holder', 'same', 'member', 'nobody'],
  Review: ['nobody', 'nobody', 'holder', 'same', 'member'],
  Done: ['nobody', 'nobody', 'nobody', 'nobody', 'same'],
};

/** Who may take the step from one state to another. */
export function stepBetween(from: State, to: State): Step {
  return steps[from][STATES.indexOf(to)] as Step;
}

export interface Pair {
  from: State;
  to: State;
  step: Step;
}

/** The 25 pairs of states, or those with one of these steps. */
export function pairs(...wanted: Step[]): Pair[] {
  return STATES.flatMap((from) => STATES.map((to) => ({ from, to, step: stepBetween(from, to) }))).filter(
    ({ step }) => wanted.length === 0 || wanted.includes(step),
  );
}

/** The states that this caller may set on a task in that state, in the order of the workflow. */
export function allowedTo(caller: CallerName, from: State): State[] {
  const own: Step[] = caller === 'another Member' ? ['member'] : ['member', 'holder'];
  return pairs(...own)
    .filter((pair) => pair.from === from)
    .map(({ to }) => to);
}

/** Creates a task and moves it to a state over HTTP; it has the assignee unless it is Open. */
export async function taskIn(state: State, manager: Person, assigneeId: string) {
  const start = { title: 'Mow the lawn', assigneeId: state === 'Open' ? null : assigneeId };
  let { body: task } = await manager.post('/api/tasks', start);
  const path = `/api/tasks/${task.id}`;
  for (const step of STATES.slice(2, STATES.indexOf(state) + 1)) {
    task = (await manager.patch(path, { state: step })).body;
  }
  if (task.state !== state) {
    throw new Error(`The task got stuck in ${task.state}.`);
  }
  return { task, path };
}
