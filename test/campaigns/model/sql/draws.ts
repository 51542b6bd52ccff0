/** The random statements, with the weight of each kind. */
import type { Random } from '../random.js';
import type { World } from '../state.js';
import { drawMemberUpdate, drawStranger, drawSync } from './members.js';
import { drawReading, drawSteps, drawUngranted } from './reads.js';
import { drawDelete, drawShiftInsert, drawShiftUpdate, drawSignup } from './shifts.js';
import type { Here, Step } from './step.js';
import { drawTaskInsert, drawTaskUpdate } from './tasks.js';

type Draw = (random: Random, here: Here) => Step;

/** The first transactions: an Admin joins the club and seeds it. */
export interface Opening {
  clubId: string;
  subject: string;
  draw: Draw;
}

/** The first transactions of every club. */
export function openingsOf(world: World): Opening[] {
  const draws = [
    (_: Random, here: Here) => drawSync(here),
    drawTaskInsert,
    drawTaskInsert,
    drawShiftInsert,
    drawShiftInsert,
  ];
  return [...world.clubs.keys()].flatMap((clubId) =>
    ['ada', 'ben'].flatMap((subject) => draws.map((draw) => ({ clubId, subject, draw }))),
  );
}

const READERS: Record<string, [number, Draw]> = {
  read: [8, drawReading],
  ungranted: [1, drawUngranted],
  sync: [2, (_, here) => drawSync(here)],
  stranger: [1, drawStranger],
  memberUpdate: [2, drawMemberUpdate],
};
const DRAWS: Record<string, [number, Draw]> = {
  ...READERS,
  steps: [1, drawSteps],
  taskUpdate: [9, drawTaskUpdate],
  shiftUpdate: [3, drawShiftUpdate],
  taskInsert: [3, drawTaskInsert],
  shiftInsert: [2, drawShiftInsert],
  delete: [1, drawDelete],
  signup: [7, drawSignup],
};

/** A random statement of any kind. */
export function drawStep(random: Random, here: Here): Step {
  // Whether a trigger needs the missing member depends on the rows, so only members run these statements.
  const draws = here.club !== undefined && here.member === undefined ? READERS : DRAWS;
  const weights = Object.fromEntries(Object.entries(draws).map(([name, [weight]]) => [name, weight]));
  return (draws[random.weighted(weights)] as [number, Draw])[1](random, here);
}
