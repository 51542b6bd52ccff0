import type { Sender } from './send.js';
import type { CallOptions, ClubDto } from './types.js';

export interface Clubs {
  /** The clubs that your token names; needs no clubId. */
  mine(options?: CallOptions): Promise<ClubDto[]>;
  /** The club of this client, with your role in it. */
  current(options?: CallOptions): Promise<ClubDto>;
}

/** The methods for clubs. */
export function clubsOf({ send }: Sender): Clubs {
  return {
    mine: (options) => send('listMyClubs', { ...options }),
    current: (options) => send('getCurrentClub', { ...options }),
  };
}
