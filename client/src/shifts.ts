import type { List } from './list.js';
import type { Sender } from './send.js';
import type {
  CallOptions,
  CreateShiftRequest,
  MakeOptions,
  ShiftDetailDto,
  ShiftFilter,
  ShiftListDto,
  ShiftSignupDto,
  Versioned,
} from './types.js';

/**
 * Whoever changes a shift passes it as it was read, and gets it as it is now. Its version goes with the request: if
 * somebody changed it meanwhile, nothing happens and the call is rejected with `shift_version_conflict`.
 */
export interface Shifts {
  list(filter?: ShiftFilter, options?: CallOptions): List<ShiftListDto>;
  get(id: string, options?: CallOptions): Promise<ShiftDetailDto>;
  create(shift: CreateShiftRequest, options?: MakeOptions): Promise<ShiftDetailDto>;
  /** Changes what is named and keeps the rest, so it needs the whole shift and no row of a list. */
  update(
    shift: ShiftDetailDto,
    changes: Partial<CreateShiftRequest>,
    options?: CallOptions,
  ): Promise<ShiftDetailDto>;
  /** Replaces all of it: what is left out becomes null. */
  replace(shift: Versioned, by: CreateShiftRequest, options?: CallOptions): Promise<ShiftDetailDto>;
  /** Deletes a shift and its signups, as it was read; with an id alone whatever became of it. */
  delete(shift: Versioned | string, options?: CallOptions): Promise<void>;
  /** Takes one of the free places. */
  signUp(id: string, options?: MakeOptions): Promise<ShiftSignupDto>;
  /** Your signup, as `signUp` answered it. */
  mySignup(id: string, options?: CallOptions): Promise<ShiftSignupDto>;
  /** Gives your place back. */
  cancelSignUp(id: string, options?: CallOptions): Promise<void>;
}

/** The methods about shifts. */
export function shiftsOf({ send, list }: Sender): Shifts {
  const replace: Shifts['replace'] = ({ id, version }, by, options) =>
    send('replaceShift', { id, body: { ...by, version }, ...options });
  return {
    list: (filter = {}, options = {}) => list('listShifts', filter, options),
    get: (id, options) => send('getShift', { id, ...options }),
    create: (shift, options) => send('createShift', { body: { ...shift }, ...options }),
    update: async (shift, changes, options) => {
      const { title, startsAt, endsAt, capacity, location, description } = shift;
      if (description === undefined) {
        // Left out it would be cleared.
        throw new TypeError(
          'This is a row of a list: read the whole shift with shifts.get(id) to change it.',
        );
      }
      return replace(
        shift,
        { title, startsAt, endsAt, capacity, location, description, ...changes },
        options,
      );
    },
    replace,
    delete: (shift, options) =>
      typeof shift === 'string'
        ? send('deleteShift', { id: shift, ...options })
        : send('deleteShift', { id: shift.id, ifVersion: shift.version, ...options }),
    signUp: (id, options) => send('signUp', { id, ...options }),
    mySignup: (id, options) => send('getMySignup', { id, ...options }),
    cancelSignUp: (id, options) => send('cancelSignUp', { id, ...options }),
  };
}
