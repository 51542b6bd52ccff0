import type { List } from './list.js';
import type { Sender } from './send.js';
import type { CallOptions, SignupFilter, SignupListDto } from './types.js';

export interface Signups {
  /** Who is signed up for what, by the start of the shift. `shifts.assign` and `shifts.signUp` create signups. */
  list(filter?: SignupFilter, options?: CallOptions): List<SignupListDto>;
}

/** The methods for signups. */
export function signupsOf({ list }: Sender): Signups {
  return {
    list: (filter = {}, options = {}) => list('listSignups', filter, options),
  };
}
