/** Statements that write shifts and signups, by an id or without a condition. */
import type { Random } from '../random.js';
import { cancel, refusalOfCancel, refusalOfSignup, saysNothingNew } from '../shifts.js';
import { drawId, drawTimes, reaches } from '../state.js';
import { drawText, inserting, updating } from './assignments.js';
import type { Here, Step } from './step.js';

const CODES: Record<string, string> = {
  shift_not_found: 'SH001',
  shift_in_past: 'SH002',
  already_signed_up: 'SH003',
  shift_full: 'SH004',
  signup_not_found: 'SH005',
};

/** Updates a shift, or all of them. */
export function drawShiftUpdate(random: Random, here: Here): Step {
  const set = random.pick([
    { title: drawText(random, here) },
    { capacity: random.between(0, 3) },
    drawTimes(random),
  ]);
  const id = random.isTrue(0.2) ? undefined : drawId(random, here.world, here.club, ({ shifts }) => shifts);
  return {
    ...updating('shifts', set, id),
    least: 'Manager',
    rule: ({ club, role }) => {
      const hit = [...club.shifts.values()].filter((shift) => id === undefined || shift.id === id);
      if (!reaches(role, 'Manager')) {
        return { rows: 0 };
      }
      const next = hit.map((shift) => ({ ...shift, ...set }));
      if (next.some(({ capacity, signups }) => capacity < Math.max(1, signups.length))) {
        return { codes: ['23514'] };
      }
      for (const shift of hit.filter((one) => !saysNothingNew(one, set))) {
        Object.assign(shift, set, { version: shift.version + 1 });
      }
      return { rows: hit.length };
    },
  };
}

/** Inserts a shift. */
export function drawShiftInsert(random: Random, here: Here): Step {
  const words = {
    title: drawText(random, here),
    location: drawText(random, here),
    description: drawText(random, here),
  };
  const set = { ...words, ...drawTimes(random), capacity: random.between(1, 3) };
  return {
    ...inserting('shifts', set),
    needsMember: true,
    rule: ({ club, role, member }, rows) => {
      if (!reaches(role, 'Manager')) {
        return { codes: ['42501'] };
      }
      const id = String(rows[0]?.id);
      const made = { id, ...set, createdById: member?.id ?? null, version: 1, signups: [] };
      club.shifts.set(id, { ...made, createdAt: '', updatedAt: '' });
      return { rows: 1, returned: [{ id }] };
    },
  };
}

/** Deletes a row, or all of them. */
export function drawDelete(random: Random, here: Here): Step {
  const table = random.pick(['tasks', 'shifts'] as const);
  const id = random.isTrue(0.15) ? undefined : drawId(random, here.world, here.club, (club) => club[table]);
  return {
    text: `delete from app.${table} ${id === undefined ? '' : 'where id = $1'}`,
    values: id === undefined ? [] : [id],
    least: 'Admin',
    rule: ({ club, role }) => {
      const ids = [...club[table].keys()].filter((one) => id === undefined || one === id);
      const gone = reaches(role, 'Admin') ? ids : [];
      for (const one of gone) {
        club[table].delete(one);
      }
      return { rows: gone.length };
    },
  };
}

/** Signs the caller up, or cancels. A Viewer finds no shift to lock. */
export function drawSignup(random: Random, here: Here): Step {
  const id = drawId(random, here.world, here.club, ({ shifts }) => shifts);
  const isCancel = random.isTrue(0.35);
  return {
    text: isCancel ? 'select app.cancel_sign_up($1)' : 'select id, shift_id, member_id from app.sign_up($1)',
    values: [id],
    needsMember: true,
    rule: ({ club, role, member }, rows) => {
      const memberId = member?.id ?? '';
      const shift = reaches(role, 'Member') ? club.shifts.get(id) : undefined;
      const refusal = (isCancel ? refusalOfCancel : refusalOfSignup)(shift, memberId);
      if (shift === undefined || refusal !== undefined) {
        return { codes: [CODES[refusal ?? ''] ?? ''] };
      }
      if (isCancel) {
        cancel(shift, memberId);
        return { rows: 1 };
      }
      const signup = { id: String(rows[0]?.id), memberId, createdAt: '' };
      shift.signups.push(signup);
      return { rows: 1, returned: [{ id: signup.id, shift_id: id, member_id: memberId }] };
    },
  };
}
