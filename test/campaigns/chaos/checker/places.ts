import { holderOf, isUnknown, type Kind, type Operation } from '../history.js';
import { type Meaning, type Model, meaningOfMerge, type Request, type State } from './states.js';

/** The requests about the signup or the wait of a member. */
export const OF_PLACES: Kind[] = [
  'sign up',
  'cancel',
  'read signup',
  'assign',
  'unassign',
  'wait',
  'stop waiting',
  'read wait',
  'assign wait',
  'remove wait',
];

// The state of a member who is signed up is the creator of the signup. That of a member who waits is this and the creator of the wait.
const WAIT = 'wait by ';

/** The state of a member who waits. */
export const waitBy = (creator: string): State => WAIT + creator;

/** Whether it is the state of a member who waits. */
export const isWaiting = (state: State): boolean => state?.startsWith(WAIT) ?? false;

const isIn = (state: State) => state !== undefined && !isWaiting(state);
const isOut = (state: State) => state === undefined;

/** The signup or the wait of a member. Whoever waits may get a place at any time, in a signup of the creator of the wait. */
export const PLACES: Model = {
  meaningOf,
  unasked: (state) => (isWaiting(state) ? [state?.slice(WAIT.length)] : []),
  isIn,
};

/** The answer says that this was so. */
const shows =
  (isSo: (state: State) => boolean): Meaning =>
  (state) =>
    isSo(state) ? [state] : [];

/** The request does this if it succeeds. */
function effectOf({ kind, member }: Operation): Meaning | undefined {
  if (kind === 'sign up' || kind === 'assign') {
    return (state) => (isOut(state) ? [member] : []);
  }
  if (kind === 'wait' || kind === 'assign wait') {
    return (state) => (isOut(state) ? [waitBy(member)] : []);
  }
  if (kind === 'cancel' || kind === 'unassign') {
    return (state) => (isIn(state) ? [undefined] : []);
  }
  if (kind === 'stop waiting' || kind === 'remove wait') {
    return (state) => (isWaiting(state) ? [undefined] : []);
  }
  if (kind === 'end membership') {
    return () => [undefined];
  }
  return undefined;
}

/** What a refusal says of the member. To sign up is refused to whoever waits, because the shift is full. */
const REFUSALS: Record<string, Meaning> = {
  already_signed_up: shows(isIn),
  already_waiting: shows(isWaiting),
  shift_full: shows((state) => !isIn(state)),
  shift_not_full: shows(isOut),
  signup_not_found: shows((state) => !isIn(state)),
  wait_not_found: shows((state) => !isWaiting(state)),
  // A member who has left or was merged has neither.
  member_not_found: shows(isOut),
};

/** A signup stays rather than a wait, and that of the other member; of two waits the earlier. */
function combine(own: State, moved: State): State[] {
  if (isWaiting(own)) {
    return isWaiting(moved) ? [own, moved] : [moved];
  }
  return [own];
}

function meaningOf(operation: Request): Meaning | undefined {
  const { kind, status, code = '', creator, queue } = operation;
  if (kind === 'merge') {
    return meaningOfMerge(operation, combine);
  }
  const isWritten = status === 201 || status === 204 || (kind === 'end membership' && status === 200);
  if (isUnknown(operation) || isWritten) {
    return effectOf(operation);
  }
  if (kind === 'read waits') {
    const isThere = queue?.includes(holderOf(operation));
    return shows((state) => isWaiting(state) === isThere);
  }
  if (status === 200) {
    const isOfWait = kind === 'read wait' || kind === 'assign wait';
    const shown = creator !== undefined && isOfWait ? waitBy(creator) : creator;
    return shows((state) => (isOfWait ? isWaiting(state) : isIn(state)) && state === (shown ?? state));
  }
  if (code === 'membership_ended') {
    return holderOf(operation) === operation.member ? shows(isOut) : undefined;
  }
  return REFUSALS[code];
}
