/** Random requests: caller, club and operation. */
import type { Role } from '../../../../src/roles.js';
import type { Random } from '../random.js';
import { type Club, drawId, drawToken, reaches, SUBJECTS, type World } from '../state.js';
import type { Ask, Kind } from './ask.js';
import {
  drawMemberQuery,
  drawPatch,
  drawReplacement,
  drawShift,
  drawShiftQuery,
  drawTask,
  drawTaskQuery,
} from './bodies.js';
import { OPERATIONS } from './rules.js';

/** The current roles of every subject in every club, as at the identity provider. */
export type Roster = Record<string, Record<string, Role>>;

const ROLES: Role[] = ['Viewer', 'Member', 'Member', 'Manager', 'Admin'];

const WEIGHTS: Record<Kind, number> = {
  listTasks: 6,
  getTask: 3,
  createTask: 6,
  patchTask: 16,
  deleteTask: 2,
  listShifts: 6,
  getShift: 4,
  createShift: 4,
  replaceShift: 5,
  deleteShift: 1,
  signUp: 9,
  getMySignup: 3,
  cancelSignUp: 4,
  listMembers: 4,
  getMember: 3,
  getMe: 2,
  getClub: 1,
  listMyClubs: 2,
};

const QUERIES: Partial<Record<Kind, typeof drawTaskQuery>> = {
  listTasks: drawTaskQuery,
  listShifts: drawShiftQuery,
  listMembers: drawMemberQuery,
};

type DrawBody = (random: Random, world: World, club: Club, id: string) => object;

const BODIES: Partial<Record<Kind, DrawBody>> = {
  createTask: drawTask,
  patchTask: drawPatch,
  createShift: drawShift,
  replaceShift: drawReplacement,
};

/** Gives every subject a role in some clubs; none has one in the last club. */
export function drawRoster(random: Random, world: World): Roster {
  const roster: Roster = Object.fromEntries(SUBJECTS.map((subject) => [subject, {}]));
  for (let change = 0; change < 40; change += 1) {
    changeRoster(random, world, roster);
  }
  return roster;
}

/** Changes or removes a role of a subject in a club. */
export function changeRoster(random: Random, world: World, roster: Roster): void {
  const clubId = random.pick([...world.clubs.keys()].slice(0, -1));
  const roles = roster[random.pick(SUBJECTS)] ?? {};
  if (random.isTrue(0.2)) {
    delete roles[clubId];
  } else {
    roles[clubId] = random.pick(ROLES);
  }
}

function pathId(random: Random, world: World, club: Club, kind: Kind): string {
  if (kind.includes('Member')) {
    return drawId(random, world, club, ({ members }) => members);
  }
  return kind.includes('Task')
    ? drawId(random, world, club, ({ tasks }) => tasks)
    : drawId(random, world, club, ({ shifts }) => shifts);
}

/** A random request. Given parts are not random. */
export function drawAsk(
  random: Random,
  world: World,
  roster: Roster,
  now: number,
  given: { kind?: Kind; clubId?: string; subject?: string; roles?: Record<string, Role> } = {},
): Ask {
  const kind = given.kind ?? random.weighted(WEIGHTS);
  const clubIds = [...world.clubs.keys()];
  const club = world.clubs.get(
    given.clubId ?? random.pick(random.isTrue(0.95) ? clubIds.slice(0, -1) : clubIds),
  ) as Club;
  const able = SUBJECTS.filter((one) => reaches(roster[one]?.[club.id] ?? 'Viewer', OPERATIONS[kind].least));
  const isAble = able.length > 0 && random.isTrue(0.8);
  const subject = given.subject ?? random.pick(isAble ? able : SUBJECTS);
  const id = pathId(random, world, club, kind);
  const version = (club.tasks.get(id) ?? club.shifts.get(id))?.version ?? 1;
  const isConditional = /^(patch|replace|delete)/.test(kind) && random.isTrue(0.2);
  const isOdd = (probability: number) => given.kind === undefined && random.isTrue(probability);
  const ask: Ask = {
    kind,
    clubId: kind === 'listMyClubs' || isOdd(0.01) ? null : club.id,
    token: isOdd(0.01) ? null : drawToken(random, club, subject, now),
    roles: { ...(given.roles ?? roster[subject]) },
    id,
    body: BODIES[kind]?.(random, world, club, id),
    query: QUERIES[kind]?.(random, world, club) ?? {},
    ifMatch: isConditional ? version + random.pick([0, 0, 1]) : null,
    isMalformed: false,
  };
  if (ask.body !== undefined && isOdd(0.05)) {
    const fault = random.pick([
      { title: null },
      { title: 5 },
      { tenantId: club.id },
      { capacity: '2', state: 'Lost' },
    ]);
    return { ...ask, body: { ...ask.body, ...fault }, isMalformed: true };
  }
  return kind.startsWith('list') && kind !== 'listMyClubs' && isOdd(0.05)
    ? { ...ask, query: { ...ask.query, sort: 'tenantId' }, isMalformed: true }
    : ask;
}
