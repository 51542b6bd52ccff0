import type { Sender } from './send.js';
import type { Answered, CallOptions } from './types.js';

/** What a watchdog asks; without a token, and never twice. */
export interface Health {
  /** Whether the process answers. */
  live(options?: CallOptions): Promise<Answered<'isAlive'>>;
  /** Whether it can work; rejected with `service_unavailable`, which says why not. */
  ready(options?: CallOptions): Promise<Answered<'isReady'>>;
}

/** The methods about the process. */
export function healthOf({ send }: Sender): Health {
  return {
    live: (options) => send('isAlive', { ...options }),
    ready: (options) => send('isReady', { ...options }),
  };
}
