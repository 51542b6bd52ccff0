import type { Sender } from './send.js';
import type { Answered, CallOptions } from './types.js';

/** The health checks; sent without a token and without retries. */
export interface Health {
  /** Whether the process answers. */
  live(options?: CallOptions): Promise<Answered<'isAlive'>>;
  /** Whether the service is ready; rejects with `service_unavailable`, whose message gives the reason. */
  ready(options?: CallOptions): Promise<Answered<'isReady'>>;
}

/** The methods for the health checks. */
export function healthOf({ send }: Sender): Health {
  return {
    live: (options) => send('isAlive', { ...options }),
    ready: (options) => send('isReady', { ...options }),
  };
}
