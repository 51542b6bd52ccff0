/** The expected answer to any request: the checks in order, then the operation's rules. */
import type { Role } from '../../../../src/roles.js';
import { enter, memberDto, memberOf } from '../members.js';
import { reaches, type World } from '../state.js';
import { type Ask, type Here, type Kind, type Row, refuse, sorted, type Verdict } from './ask.js';
import * as shifts from './shifts.js';
import * as tasks from './tasks.js';

interface Operation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  least: Role;
  rule: (here: Here) => Verdict;
}

const one = (method: Operation['method'], path: string, least: Role, rule: Operation['rule']): Operation => ({
  method,
  path,
  least,
  rule,
});

/** Every operation of the table of endpoints. */
export const OPERATIONS: Record<Kind, Operation> = {
  listTasks: one('GET', '/api/tasks', 'Member', tasks.listTasks),
  getTask: one('GET', '/api/tasks/:id', 'Member', tasks.getTask),
  createTask: one('POST', '/api/tasks', 'Manager', tasks.createTask),
  patchTask: one('PATCH', '/api/tasks/:id', 'Member', tasks.patchTask),
  deleteTask: one('DELETE', '/api/tasks/:id', 'Admin', tasks.deleteTask),
  listShifts: one('GET', '/api/shifts', 'Viewer', shifts.listShifts),
  getShift: one('GET', '/api/shifts/:id', 'Viewer', shifts.getShift),
  createShift: one('POST', '/api/shifts', 'Manager', shifts.createShift),
  replaceShift: one('PUT', '/api/shifts/:id', 'Manager', shifts.replaceShift),
  deleteShift: one('DELETE', '/api/shifts/:id', 'Admin', shifts.deleteShift),
  signUp: one('POST', '/api/shifts/:id/signup', 'Member', shifts.signUp),
  getMySignup: one('GET', '/api/shifts/:id/signup', 'Member', shifts.getMySignup),
  cancelSignUp: one('DELETE', '/api/shifts/:id/signup', 'Member', shifts.cancelSignUp),
  listMembers: one('GET', '/api/members', 'Member', listMembers),
  getMember: one('GET', '/api/members/:id', 'Member', getMember),
  getMe: one('GET', '/api/members/me', 'Viewer', (here) => ({
    status: 200,
    body: memberDto(here, here.member),
  })),
  getClub: one('GET', '/api/clubs/current', 'Viewer', ({ club, role }) => ({
    status: 200,
    body: { id: club.id, name: club.name, slug: club.slug, timeZone: 'Europe/Berlin', role },
  })),
  listMyClubs: one('GET', '/api/clubs/me', 'Viewer', () => ({ status: 500 })),
};

function listMembers(here: Here): Verdict {
  const { q = '', role, sort = 'displayName' } = here.ask.query;
  const { members } = here.club;
  const rows = [...members.values()]
    .filter((member) => role === undefined || member.role === role)
    .filter(({ name }) => name.toLowerCase().includes(q.toLowerCase()))
    .map((member) => memberDto(here, member));
  return sorted(rows, sort, {
    displayName: ({ displayName }) => displayName,
    joinedAt: ({ id }) => String(members.get(id)?.order).padStart(6, '0'),
  });
}

function getMember(here: Here): Verdict {
  const member = here.club.members.get(here.ask.id);
  return member === undefined
    ? refuse(404, 'member_not_found')
    : { status: 200, body: memberDto(here, member) };
}

function listMyClubs(world: World, { roles }: Ask): Verdict {
  const named = [...world.clubs.values()].filter(({ id, isClosed }) => !isClosed && roles[id] !== undefined);
  const rows = named.map(({ id, name, slug }) => ({
    id,
    name,
    slug,
    timeZone: 'Europe/Berlin',
    role: roles[id],
  }));
  return sorted(rows, 'name', { name: ({ name }) => name });
}

/** The subject whose member the request creates, with an id that the model does not know. */
export function newcomerOf(world: World, { clubId, token }: Ask): string | undefined {
  const club = world.clubs.get(clubId ?? '');
  return club !== undefined && token !== null && memberOf(club, token.subject) === undefined
    ? token.subject
    : undefined;
}

/** The expected answer. Changes the model; new ids and times come from the service's answer. */
export function judge(world: World, ask: Ask, answer: Row, newMemberId: string): Verdict {
  const { kind, clubId, token, roles } = ask;
  const { least, rule } = OPERATIONS[kind];
  if (token === null) {
    return refuse(401, 'unauthenticated');
  }
  if (kind === 'listMyClubs') {
    return listMyClubs(world, ask);
  }
  if (clubId === null) {
    return refuse(400, 'tenant_header_missing');
  }
  const role = roles[clubId];
  if (role === undefined) {
    return refuse(403, 'tenant_forbidden');
  }
  if (!reaches(role, least)) {
    return refuse(403, 'insufficient_role', { requiredRole: least, yourRole: role });
  }
  if (ask.isMalformed) {
    return refuse(400, ask.body === undefined ? 'invalid_parameter' : 'validation_failed');
  }
  const club = world.clubs.get(clubId);
  if (club === undefined || club.isClosed) {
    return refuse(403, 'tenant_forbidden');
  }
  const member = enter(world, club, token, role, newMemberId);
  return rule({ world, club, role, member, ask, answer });
}
