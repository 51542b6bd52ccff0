import type { List } from './list.js';
import type { Sender } from './send.js';
import type { CallOptions, CreateOptions, WaitDto } from './types.js';

/** Waiting for a place in a full shift. Who is next gets a place that becomes free, and the wait ends. */
export interface Waits {
  /** Waits for a place, as the last. */
  start(shiftId: string, options?: CreateOptions): Promise<WaitDto>;
  /** Your wait, with your position. */
  mine(shiftId: string, options?: CallOptions): Promise<WaitDto>;
  /** Stops waiting. */
  stop(shiftId: string, options?: CallOptions): Promise<void>;
  /** Who waits for a place in a shift, in the order of the queue. For Managers, as those below. */
  ofShift(shiftId: string, options?: CallOptions): List<WaitDto>;
  /** Lets a member wait. If they wait already, it returns that wait. */
  assign(shiftId: string, memberId: string, options?: CallOptions): Promise<WaitDto>;
  /** The wait of a member. */
  get(shiftId: string, memberId: string, options?: CallOptions): Promise<WaitDto>;
  /** Ends the wait of a member. */
  remove(shiftId: string, memberId: string, options?: CallOptions): Promise<void>;
}

/** The methods for waits. */
export function waitsOf({ send, list }: Sender): Waits {
  return {
    start: (id, options) => send('waitForPlace', { id, ...options }),
    mine: (id, options) => send('getMyWait', { id, ...options }),
    stop: (id, options) => send('stopWaiting', { id, ...options }),
    ofShift: (id, options = {}) => list('listWaits', {}, { id, ...options }),
    assign: (id, memberId, options) => send('assignWait', { id, memberId, ...options }),
    get: (id, memberId, options) => send('getWait', { id, memberId, ...options }),
    remove: (id, memberId, options) => send('removeWait', { id, memberId, ...options }),
  };
}
