import type { List } from './list.js';
import type { Sender } from './send.js';
import type {
  CallOptions,
  CreateOptions,
  CreateShiftRequest,
  ShiftChanges,
  ShiftDetailDto,
  ShiftFilter,
  ShiftListDto,
  ShiftRepeat,
  ShiftSignupDto,
  Versioned,
} from './types.js';
import { deletionOf, versionOf } from './versioned.js';

/**
 * The methods that change a shift take it as it was read and return its new state. The request has its version: if the
 * shift was changed meanwhile, nothing is changed and the call rejects with `shift_version_conflict`.
 */
export interface Shifts {
  list(filter?: ShiftFilter, options?: CallOptions): List<ShiftListDto>;
  get(id: string, options?: CallOptions): Promise<ShiftDetailDto>;
  create(shift: CreateShiftRequest, options?: CreateOptions): Promise<ShiftDetailDto>;
  /**
   * Changes the given fields and keeps all others, even if they are undefined; null clears a field. It needs the
   * complete shift, not a row of a list.
   */
  update(shift: ShiftDetailDto, changes: ShiftChanges, options?: CallOptions): Promise<ShiftDetailDto>;
  /** Replaces the shift: an optional field that is absent becomes null, but `signupOpensAt`, `signupClosesAt` and `cancelUntil` stay. */
  replace(shift: Versioned, by: CreateShiftRequest, options?: CallOptions): Promise<ShiftDetailDto>;
  /** Deletes a shift and its signups if its version is unchanged; with an id only, without this check. */
  delete(shift: Versioned | string, options?: CallOptions): Promise<void>;
  /** Takes a free place. */
  signUp(id: string, options?: CreateOptions): Promise<ShiftSignupDto>;
  /** Your signup, as `signUp` returned it. */
  mySignup(id: string, options?: CallOptions): Promise<ShiftSignupDto>;
  /** Cancels your signup. */
  cancelSignUp(id: string, options?: CallOptions): Promise<void>;
  /** Signs a member up. If they are signed up already, it returns that signup. */
  assign(id: string, memberId: string, options?: CallOptions): Promise<ShiftSignupDto>;
  /** Cancels the signup of a member. */
  unassign(id: string, memberId: string, options?: CallOptions): Promise<void>;
  /** The signup of a member. */
  signup(id: string, memberId: string, options?: CallOptions): Promise<ShiftSignupDto>;
  /** Creates up to 200 shifts, all or none, with one `batchId`. */
  createMany(shifts: CreateShiftRequest[], options?: CreateOptions): Promise<ShiftListDto[]>;
  /** Creates the shifts of a rule in local times of the club, all or none, with one `batchId`. The rule is not stored. */
  repeat(rule: ShiftRepeat, options?: CreateOptions): Promise<ShiftListDto[]>;
  /**
   * Deletes the shifts of a batch, or those that start at `from` or later. A Manager can delete only shifts of their own without
   * signups; otherwise it rejects with `insufficient_role`.
   */
  deleteBatch(batchId: string, options?: CallOptions & { from?: string | Date | undefined }): Promise<void>;
}

/** The methods for shifts. */
export function shiftsOf({ send, list }: Sender): Shifts {
  const replace: Shifts['replace'] = async (shift, by, options) => {
    const { id, version } = versionOf(shift);
    return send('replaceShift', { id, body: { ...by, version }, ...options });
  };
  return {
    list: (filter = {}, options = {}) => list('listShifts', filter, options),
    get: (id, options) => send('getShift', { id, ...options }),
    create: (shift, options) => send('createShift', { body: { ...shift }, ...options }),
    update: async (shift, changes, options) => {
      const { title, startsAt, endsAt, capacity, location, description } = shift;
      if (description === undefined) {
        // PUT would clear an absent description.
        throw new TypeError(
          'This is a row of a list. Read the complete shift with shifts.get(id) to change it.',
        );
      }
      const changed = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
      return replace(
        shift,
        { title, startsAt, endsAt, capacity, location, description, ...changed },
        options,
      );
    },
    replace,
    delete: async (shift, options) => send('deleteShift', { ...deletionOf(shift), ...options }),
    signUp: (id, options) => send('signUp', { id, ...options }),
    mySignup: (id, options) => send('getMySignup', { id, ...options }),
    cancelSignUp: (id, options) => send('cancelSignUp', { id, ...options }),
    assign: (id, memberId, options) => send('assignSignUp', { id, memberId, ...options }),
    unassign: (id, memberId, options) => send('removeSignUp', { id, memberId, ...options }),
    signup: (id, memberId, options) => send('getSignup', { id, memberId, ...options }),
    createMany: (shifts, options) => send('createShifts', { body: { shifts }, ...options }),
    repeat: (rule, options) => send('createShifts', { body: { repeat: rule }, ...options }),
    deleteBatch: (batchId, { from, ...options } = {}) =>
      send('deleteShifts', { query: { batchId, from }, ...options }),
  };
}
