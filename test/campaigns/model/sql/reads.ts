/** Statements that read, mostly without a condition. */
import type { Role } from '../../../../src/roles.js';
import { STATES } from '../../../setup/workflow.js';
import type { Random } from '../random.js';
import { type Club, drawId, reaches } from '../state.js';
import { allowedSteps } from '../tasks.js';
import type { Here, Step } from './step.js';

interface Reading {
  columns: string;
  least: Role;
  rows: (club: Club) => { id: string }[];
  ids: (club: Club) => Map<string, unknown>;
}

const byId = (club: Club) => new Map([[club.id, club]]);

const READINGS: Record<string, Reading> = {
  clubs: {
    columns: 'id, name, slug',
    least: 'Viewer',
    rows: ({ id, name, slug }) => [{ id, name, slug }],
    ids: byId,
  },
  members: {
    columns: 'id, display_name, email, role, external_user_id',
    least: 'Viewer',
    rows: ({ members }) =>
      [...members.values()].map(({ id, name, email, role, subject }) => ({
        id,
        display_name: name,
        email,
        role,
        external_user_id: subject,
      })),
    ids: ({ members }) => members,
  },
  tasks: {
    columns: 'id, title, state, assignee_id, version',
    least: 'Member',
    rows: ({ tasks }) =>
      [...tasks.values()].map(({ id, title, state, assigneeId, version }) => ({
        id,
        title,
        state,
        assignee_id: assigneeId,
        version,
      })),
    ids: ({ tasks }) => tasks,
  },
  shifts: {
    columns: 'id, title, capacity, signup_count, version',
    least: 'Viewer',
    rows: ({ shifts }) =>
      [...shifts.values()].map(({ id, title, capacity, signups, version }) => ({
        id,
        title,
        capacity,
        signup_count: signups.length,
        version,
      })),
    ids: ({ shifts }) => shifts,
  },
  shift_signups: {
    columns: 'id, shift_id, member_id',
    least: 'Viewer',
    rows: ({ shifts }) =>
      [...shifts.values()].flatMap((shift) =>
        shift.signups.map(({ id, memberId }) => ({ id, shift_id: shift.id, member_id: memberId })),
      ),
    ids: ({ shifts }) =>
      new Map([...shifts.values()].flatMap(({ signups }) => signups.map((one) => [one.id, one]))),
  },
};

/** Reads a whole table, or one row by its id. */
export function drawReading(random: Random, { world, club }: Here): Step {
  const table = random.pick(Object.keys(READINGS));
  const { columns, least, rows, ids } = READINGS[table] as Reading;
  const id = random.isTrue(0.7) ? undefined : drawId(random, world, club, ids);
  return {
    text: `select ${columns} from app.${table} ${id === undefined ? '' : `where id = $1`}`,
    values: id === undefined ? [] : [id],
    least,
    rule: (here) => {
      const all = reaches(here.role, least) ? rows(here.club) : [];
      const returned = all.filter((row) => id === undefined || row.id === id);
      return { rows: returned.length, returned };
    },
  };
}

/** Reads the steps that the caller may take. */
export function drawSteps(random: Random, here: Here): Step {
  const { world, club, member } = here;
  if (member === undefined) {
    return drawReading(random, here);
  }
  const state = random.pick(STATES);
  const assigneeId = state === 'Open' ? null : drawId(random, world, club, (one) => one.members);
  return {
    text: 'select app.allowed_transitions($1, $2) as steps',
    values: [state, assigneeId],
    rule: ({ role }) => ({
      rows: 1,
      returned: [{ steps: allowedSteps(role, member.id, { state, assigneeId }) }],
    }),
  };
}

/** Statements without a grant for any caller, on any row. */
export function drawUngranted(random: Random, { world, club }: Here): Step {
  const other = random.pick([...world.clubs.keys()]);
  const shift = drawId(random, world, club, (one) => one.shifts);
  const member = drawId(random, world, club, (one) => one.members);
  const text = random.pick([
    'update app.tasks set version = 1',
    `update app.tasks set tenant_id = '${other}'`,
    `insert into app.tasks (tenant_id, title) values ('${other}', 'x')`,
    'update app.shifts set signup_count = 0',
    `insert into app.shift_signups (shift_id, member_id) values ('${shift}', '${member}')`,
    'delete from app.shift_signups',
    'delete from app.members',
    'update app.members set external_user_id = $$x$$',
    `update app.members set tenant_id = '${other}'`,
    'update app.clubs set name = $$x$$',
    'delete from app.clubs',
    'truncate app.tasks',
    `select app.close_club('${other}')`,
    `select app.erase_member('${other}', '${member}')`,
  ]);
  return { text, isNeverGranted: true, rule: () => ({ codes: ['42501'] }) };
}
