import type { Sender } from './send.js';
import type { CallOptions, MemberDataDto } from './types.js';

export interface Copies {
  /** All data about you in this club. */
  mine(options?: CallOptions): Promise<MemberDataDto>;
  /** All data about a member. */
  of(memberId: string, options?: CallOptions): Promise<MemberDataDto>;
}

/** The methods for copies of the data about a member. */
export function copiesOf({ send }: Sender): Copies {
  return {
    mine: (options) => send('copyMyData', { ...options }),
    of: (memberId, options) => send('copyMemberData', { id: memberId, ...options }),
  };
}
