/** The workflow of a task as the contract draws it, to hold both HTTP and raw SQL to. */
import type { Person } from './service.js';

export const STATES = ['Open', 'Assigned', 'InProgress', 'Review', 'Done'] as const;
export type State = (typeof STATES)[number];

/** The three that a step can make a difference to. An Open task has no assignee; there the first is any Member. */
export const CALLERS = ['the assignee', 'another Member', 'a Manager'] as const;
export type CallerName = (typeof CALLERS)[number];

/** Whose a step is: any Member's, the holder's (the assignee or a Manager), nobody's; `same` is no step. */
export type Step = 'same' | 'member' | 'holder' | 'nobody';

/** From each state (the row) to each state (the column, in the order of STATES). */
const steps: Record<State, readonly Step[]> = {
  Open: ['same', 'member', 'nobody', 'nobody', 'nobody'],
  Assigned: ['holder', 'same', 'member', 'nobody', 'nobody'],
  InProgress: ['nobody', 'holder', 'same', 'member', 'nobody'],
  Review: ['nobody', 'nobody', 'holder', 'same', 'member'],
  Done: ['nobody', 'nobody', 'nobody', 'nobody', 'same'],
};

export interface Pair {
  from: State;
  to: State;
  step: Step;
}

/** The 25 pairs of states, or those whose step is one of these. */
export function pairs(...wanted: Step[]): Pair[] {
  return STATES.flatMap((from) =>
    STATES.map((to, column) => ({ from, to, step: steps[from][column] as Step })),
  ).filter(({ step }) => wanted.length === 0 || wanted.includes(step));
}

/** The states that this caller may set on a task in that state, sorted. */
export function allowedTo(caller: CallerName, from: State): State[] {
  const own: Step[] = caller === 'another Member' ? ['member'] : ['member', 'holder'];
  return pairs(...own)
    .filter((pair) => pair.from === from)
    .map(({ to }) => to)
    .sort();
}

/** Makes a task and brings it to a state over HTTP; the assignee holds it unless it is Open. */
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
