import type { List } from './list.js';
import type { Sender } from './send.js';
import type { CallOptions, HoursDto, HoursFilter } from './types.js';

export interface Hours {
  /** The hours of members, by name: of all for a Manager, for a Member their own. */
  list(filter?: HoursFilter, options?: CallOptions): List<HoursDto>;
}

/** The methods for hours. */
export function hoursOf({ list }: Sender): Hours {
  return {
    list: (filter = {}, options = {}) => list('listHours', filter, options),
  };
}
