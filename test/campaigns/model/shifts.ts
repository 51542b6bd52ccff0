/** The rules of shifts and signups. */
import type { Caller, Shift, ShiftText } from './state.js';

const hasStarted = ({ startsAt }: Shift) => Date.parse(startsAt) <= Date.now();
export const signupOf = (shift: Shift, memberId: string) =>
  shift.signups.find((one) => one.memberId === memberId);

/** Why the member cannot sign up, if so: the errors in order. */
export function refusalOfSignup(shift: Shift | undefined, memberId: string): string | undefined {
  if (shift === undefined) {
    return 'shift_not_found';
  }
  if (hasStarted(shift)) {
    return 'shift_in_past';
  }
  if (signupOf(shift, memberId) !== undefined) {
    return 'already_signed_up';
  }
  return shift.signups.length >= shift.capacity ? 'shift_full' : undefined;
}

/** Why the member cannot cancel, if so. */
export function refusalOfCancel(shift: Shift | undefined, memberId: string): string | undefined {
  if (shift === undefined) {
    return 'shift_not_found';
  }
  if (hasStarted(shift)) {
    return 'shift_in_past';
  }
  return signupOf(shift, memberId) === undefined ? 'signup_not_found' : undefined;
}

/** Removes the member's signup from the shift. */
export function cancel(shift: Shift, memberId: string): void {
  shift.signups = shift.signups.filter((one) => one.memberId !== memberId);
}

/** Whether a write would not change the shift. */
export function saysNothingNew(shift: ShiftText, text: Partial<ShiftText>): boolean {
  return Object.entries(text).every(([name, value]) => shift[name as keyof ShiftText] === value);
}

/** A shift in a list. */
export function shiftDto({ member }: Caller, shift: Shift) {
  const { id, title, location, startsAt, endsAt, capacity, version, signups } = shift;
  const signupCount = signups.length;
  const freeSlots = capacity - signupCount;
  const isSignedUp = signupOf(shift, member.id) !== undefined;
  return {
    id,
    title,
    location,
    startsAt,
    endsAt,
    capacity,
    signupCount,
    freeSlots,
    isSignedUp,
    version,
  };
}

/** A signup with the member's current name. */
export function signupDto({ club }: Caller, shift: Shift, signup: Shift['signups'][number]) {
  const memberName = club.members.get(signup.memberId)?.name ?? 'nobody';
  return { ...signup, shiftId: shift.id, memberName };
}

/** A shift in full. */
export function shiftDetailDto(caller: Caller, shift: Shift) {
  const { description, createdById, createdAt, updatedAt } = shift;
  return {
    ...shiftDto(caller, shift),
    clubId: caller.club.id,
    description,
    signups: shift.signups.map((signup) => signupDto(caller, shift, signup)),
    createdById,
    createdAt,
    updatedAt,
  };
}
