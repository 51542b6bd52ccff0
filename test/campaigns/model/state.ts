/** The state of the model: the clubs with all their rows, as plain values that can be cloned. */
import type { Role } from '../../../src/roles.js';
import type { State } from '../../setup/workflow.js';
import type { Random } from './random.js';

export interface Member {
  id: string;
  subject: string;
  name: string;
  email: string | null;
  role: Role;
  /** The `iat` of the token that last changed it, in seconds. */
  issuedAt: number | null;
  order: number;
}

export interface Task {
  id: string;
  title: string;
  description: string | null;
  state: State;
  assigneeId: string | null;
  dueAt: string | null;
  createdById: string | null;
  createdAt: string;
  updatedAt: string;
  completedAt: string | null;
  version: number;
}

/** The fields that a writer of a shift decides. */
export interface ShiftText {
  title: string;
  location: string | null;
  description: string | null;
  startsAt: string;
  endsAt: string;
  capacity: number;
}

export interface Shift extends ShiftText {
  id: string;
  createdById: string | null;
  createdAt: string;
  updatedAt: string;
  version: number;
  signups: { id: string; memberId: string; createdAt: string }[];
}

export interface Club {
  id: string;
  name: string;
  slug: string;
  /** A canary: in every text of the club, and in no other club's. */
  canary: string;
  isClosed: boolean;
  members: Map<string, Member>;
  tasks: Map<string, Task>;
  shifts: Map<string, Shift>;
}

export interface World {
  clubs: Map<string, Club>;
  /** A counter of created rows, for their order. */
  births: number;
}

/** The claims of a token about a person, without the roles. */
export interface Token {
  subject: string;
  name: string | null;
  email: string | null;
  issuedAt: number | null;
}

/** A caller in a club: the member is the caller's own row. */
export interface Caller {
  club: Club;
  role: Role;
  member: Member;
}

const RANKS: Role[] = ['Viewer', 'Member', 'Manager', 'Admin'];

export const reaches = (role: Role, least: Role): boolean => RANKS.indexOf(role) >= RANKS.indexOf(least);

export const SUBJECTS = ['ada', 'ben', 'cleo', 'dora', 'emil', 'fay'] as const;

/** The initial clubs: the third is closed sometimes, the last one has rows and is not entered again. */
export function planClubs(random: Random): { canary: string; name: string; slug: string }[] {
  return ['north', 'south', 'east', 'quiet'].map((word) => {
    const canary = `zq${random.hex(10)}`;
    const slug = `${word}-${canary}`;
    return { canary, name: `Club ${slug}`, slug };
  });
}

/** A row id: mostly of the club, sometimes of another club, sometimes unknown. */
export function drawId(
  random: Random,
  world: World,
  club: Club | undefined,
  rowsOf: (club: Club) => Map<string, unknown>,
): string {
  const others = [...world.clubs.values()].filter((other) => other !== club);
  const owner = random.isTrue(0.75) ? club : random.pick(others);
  const ids = owner === undefined || random.isTrue(0.08) ? [] : [...rowsOf(owner).keys()];
  return ids.length === 0 ? random.missingId() : random.pick(ids);
}

/** A token of the subject for a request in the club: its claims about the person have the club's canary. */
export function drawToken(random: Random, club: Club | undefined, subject: string, now: number): Token {
  const canary = club?.canary ?? 'nowhere';
  const variant = random.isTrue(0.85) ? '' : ` ${random.between(1, 3)}`;
  const email = random.isTrue(0.8) ? `${canary}.${subject}@club.example` : null;
  return {
    subject,
    name: random.isTrue(0.9) || email === null ? `${canary} ${subject}${variant}` : null,
    email,
    issuedAt: now + (random.isTrue(0.2) ? -random.between(1, 3_000) : 0),
  };
}

/** Times of a shift: whole hours, days from now, before it or after. */
export function drawTimes(random: Random): Pick<ShiftText, 'startsAt' | 'endsAt'> {
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  const startsAt = hour + random.pick([-3, -2, 1, 2, 3, 4, 5]) * 86_400_000;
  const inSeconds = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');
  return { startsAt: inSeconds(startsAt), endsAt: inSeconds(startsAt + random.between(1, 5) * 3_600_000) };
}
