/** The rules for requests of shifts and signups. */
import {
  cancel,
  refusalOfCancel,
  refusalOfSignup,
  saysNothingNew,
  shiftDetailDto,
  shiftDto,
  signupDto,
  signupOf,
} from '../shifts.js';
import type { Shift } from '../state.js';
import { changedAt, type Here, isRuledOut, refuse, sorted, type Verdict } from './ask.js';

const STATUSES: Record<string, number> = {
  shift_not_found: 404,
  shift_in_past: 422,
  already_signed_up: 409,
  shift_full: 409,
  signup_not_found: 404,
};

/** The shifts that match the filters. */
export function listShifts(here: Here): Verdict {
  const { from, to, signedUp, hasFreeSlots, q = '', sort = 'startsAt' } = here.ask.query;
  const { club, member } = here;
  const fits = ({ title, startsAt, endsAt, capacity, signups }: Shift) =>
    (from === undefined || endsAt > from) &&
    (to === undefined || startsAt < to) &&
    (signedUp === undefined || signups.some(({ memberId }) => memberId === member.id)) &&
    (hasFreeSlots === undefined || signups.length < capacity) &&
    title.toLowerCase().includes(q.toLowerCase());
  const rows = [...club.shifts.values()].filter(fits).map((shift) => shiftDto(here, shift));
  return sorted(rows, sort, {
    startsAt: ({ startsAt }) => startsAt,
    createdAt: ({ id }) => String(club.shifts.get(id)?.createdAt.replace('Z', '')),
    title: ({ title }) => title,
  });
}

const show = (here: Here, shift: Shift, status = 200): Verdict => ({
  status,
  body: shiftDetailDto(here, shift),
  etag: shift.version,
});

/** One shift with its signups. */
export function getShift(here: Here): Verdict {
  const shift = here.club.shifts.get(here.ask.id);
  return shift === undefined ? refuse(404, 'shift_not_found') : show(here, shift);
}

const textOf = ({ body }: Here['ask']) => {
  const { title, location = null, description = null, startsAt, endsAt, capacity } = body;
  return { title, location, description, startsAt, endsAt, capacity };
};

/** Creates a shift. */
export function createShift(here: Here): Verdict {
  const { id, createdAt, updatedAt } = here.answer ?? {};
  const made = { id, createdById: here.member.id, createdAt, updatedAt, version: 1, signups: [] };
  const shift: Shift = { ...made, ...textOf(here.ask) };
  here.club.shifts.set(id, shift);
  return { ...show(here, shift, 201), location: `/api/shifts/${id}` };
}

/** Replaces a shift. */
export function replaceShift(here: Here): Verdict {
  const { version, capacity } = here.ask.body;
  const shift = here.club.shifts.get(here.ask.id);
  if (shift === undefined) {
    return refuse(404, 'shift_not_found');
  }
  if (isRuledOut(here, shift.version)) {
    return refuse(412, 'precondition_failed');
  }
  if (version !== undefined && version !== shift.version) {
    return refuse(409, 'shift_version_conflict', { currentVersion: shift.version });
  }
  if (capacity < shift.signups.length) {
    return refuse(409, 'capacity_below_signups', { signupCount: shift.signups.length });
  }
  const text = textOf(here.ask);
  if (!saysNothingNew(shift, text)) {
    const updatedAt = changedAt(here, shift.updatedAt);
    Object.assign(shift, text, { version: shift.version + 1, updatedAt });
  }
  return show(here, shift);
}

/** Deletes a shift. */
export function deleteShift(here: Here): Verdict {
  const shift = here.club.shifts.get(here.ask.id);
  if (shift === undefined) {
    return refuse(404, 'shift_not_found');
  }
  if (isRuledOut(here, shift.version)) {
    return refuse(412, 'precondition_failed');
  }
  here.club.shifts.delete(shift.id);
  return { status: 204 };
}

/** Signs the caller up. */
export function signUp(here: Here): Verdict {
  const { club, member, ask, answer } = here;
  const shift = club.shifts.get(ask.id);
  const refusal = refusalOfSignup(shift, member.id);
  if (shift === undefined || refusal !== undefined) {
    return refuse(STATUSES[refusal ?? ''] ?? 0, String(refusal));
  }
  const signup = { id: String(answer?.id), memberId: member.id, createdAt: String(answer?.createdAt) };
  shift.signups.push(signup);
  return { status: 201, body: signupDto(here, shift, signup), location: `/api/shifts/${shift.id}/signup` };
}

/** Reads the caller's signup. */
export function getMySignup(here: Here): Verdict {
  const shift = here.club.shifts.get(here.ask.id);
  if (shift === undefined) {
    return refuse(404, 'shift_not_found');
  }
  const signup = signupOf(shift, here.member.id);
  return signup === undefined
    ? refuse(404, 'signup_not_found')
    : { status: 200, body: signupDto(here, shift, signup) };
}

/** Cancels the caller's signup. */
export function cancelSignUp({ club, member, ask }: Here): Verdict {
  const shift = club.shifts.get(ask.id);
  const refusal = refusalOfCancel(shift, member.id);
  if (shift === undefined || refusal !== undefined) {
    return refuse(STATUSES[refusal ?? ''] ?? 0, String(refusal));
  }
  cancel(shift, member.id);
  return { status: 204 };
}
