/** Random bodies and filters, with the canary of the club in every text. */

import { STATES } from '../../../setup/workflow.js';
import type { Random } from '../random.js';
import { type Club, drawId, drawTimes, type World } from '../state.js';
import { isStep } from '../tasks.js';

const due = (random: Random) => `2031-05-0${random.between(1, 9)}T08:00:00Z`;

/** A text that is unique in the club, so that the sort order is unambiguous. */
function drawTitle(random: Random, world: World, club: Club): string {
  world.births += 1;
  return `${random.pick(['Mow', 'bake', 'Tidy', 'row 100%', 'a_b'])} ${club.canary} ${world.births}`;
}

const drawNote = (random: Random, club: Club) =>
  random.isTrue(0.3) ? null : `${club.canary} note ${random.between(1, 9)}\nand more`;

/** The body of a new task. */
export function drawTask(random: Random, world: World, club: Club) {
  const assigneeId = drawId(random, world, club, ({ members }) => members);
  return {
    title: drawTitle(random, world, club),
    ...(random.isTrue(0.5) ? { description: drawNote(random, club) } : {}),
    ...(random.isTrue(0.5) ? { dueAt: random.isTrue(0.3) ? null : due(random) } : {}),
    ...(random.isTrue(0.5) ? { assigneeId: random.isTrue(0.2) ? null : assigneeId } : {}),
  };
}

/** The body of a change of a task: often the next step. */
export function drawPatch(random: Random, world: World, club: Club, id: string) {
  const task = club.tasks.get(id);
  const isStepping = task !== undefined && random.isTrue(0.6);
  const next = isStepping ? STATES.filter((to) => isStep(task.state, to)) : STATES;
  const state = next.length === 0 ? 'Open' : random.pick(next);
  const someone = drawId(random, world, club, ({ members }) => members);
  const assigneeId = random.pick([someone, someone, task?.assigneeId ?? null, null]);
  const kind = random.weighted({ state: 6, assignee: 2, both: 2, text: 3, none: 0.5 });
  return {
    ...(kind === 'state' || kind === 'both' ? { state } : {}),
    ...(kind === 'assignee' || kind === 'both' ? { assigneeId } : {}),
    ...(kind === 'text' && random.isTrue(0.7) ? { title: drawTitle(random, world, club) } : {}),
    ...(kind === 'text' && random.isTrue(0.5) ? { description: drawNote(random, club) } : {}),
    ...(kind === 'text' && random.isTrue(0.5)
      ? { dueAt: random.pick([null, due(random), task?.dueAt ?? null]) }
      : {}),
    ...(random.isTrue(0.2) ? { version: (task?.version ?? 1) + random.pick([0, 0, 0, 1, -1]) || 1 } : {}),
  };
}

/** The body of a new shift. */
export function drawShift(random: Random, world: World, club: Club) {
  return {
    title: drawTitle(random, world, club),
    ...drawTimes(random),
    capacity: random.between(1, 3),
    ...(random.isTrue(0.6) ? { location: random.isTrue(0.3) ? null : `${club.canary} hall` } : {}),
    ...(random.isTrue(0.5) ? { description: drawNote(random, club) } : {}),
  };
}

/** The replacement of a shift: sometimes unchanged. */
export function drawReplacement(random: Random, world: World, club: Club, id: string) {
  const shift = club.shifts.get(id);
  const version = random.isTrue(0.2)
    ? { version: Math.max(1, (shift?.version ?? 1) + random.pick([0, 0, 1])) }
    : {};
  if (shift === undefined || random.isTrue(0.4)) {
    return { ...drawShift(random, world, club), ...version };
  }
  const { title, location, description, startsAt, endsAt, capacity } = shift;
  const same = { title, location, description, startsAt, endsAt, capacity, ...version };
  return random.isTrue(0.3) ? same : { ...same, capacity: random.between(1, 3) };
}

const some = (random: Random, all: Record<string, () => string>) =>
  Object.fromEntries(
    Object.entries(all)
      .filter(() => random.isTrue(0.25))
      .map(([name, value]) => [name, value()]),
  );

/** Filters of tasks. */
export function drawTaskQuery(random: Random, world: World, club: Club): Record<string, string> {
  return some(random, {
    state: () => random.pick(['Open', 'Assigned,Done', 'InProgress', 'Review', 'Open,Review,Done']),
    assigneeId: () => random.pick(['me', 'none', drawId(random, world, club, ({ members }) => members)]),
    dueBefore: () => due(random),
    dueAfter: () => due(random),
    q: () => random.pick(['mow', 'BAKE', '0%', '_', club.canary.toUpperCase(), 'nothing']),
    sort: () =>
      random.pick([
        'createdAt',
        '-createdAt',
        'updatedAt',
        '-updatedAt',
        'dueAt',
        '-dueAt',
        'title',
        '-title',
      ]),
  });
}

/** Filters of shifts. */
export function drawShiftQuery(random: Random, _: World, club: Club): Record<string, string> {
  const { startsAt, endsAt } = drawTimes(random);
  return some(random, {
    [random.pick(['from', 'to'])]: () => random.pick([startsAt, endsAt]),
    signedUp: () => 'me',
    hasFreeSlots: () => 'true',
    q: () => random.pick(['TIDY', 'row', '%', club.canary]),
    sort: () => random.pick(['startsAt', '-startsAt', 'title', '-title', 'createdAt', '-createdAt']),
  });
}

/** Filters of members. */
export function drawMemberQuery(random: Random, _: World, club: Club): Record<string, string> {
  return some(random, {
    q: () => random.pick(['ADA', 'e', club.canary, 'former']),
    role: () => random.pick(['Viewer', 'Member', 'Manager', 'Admin']),
    sort: () => random.pick(['displayName', '-displayName', 'joinedAt', '-joinedAt']),
  });
}
