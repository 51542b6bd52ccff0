import type { List } from './list.js';
import type { Sender } from './send.js';
import type { CallOptions, MemberDto, MemberFilter } from './types.js';

export interface Members {
  list(filter?: MemberFilter, options?: CallOptions): List<MemberDto>;
  get(id: string, options?: CallOptions): Promise<MemberDto>;
  /** Your own member in this club. Your first request makes you a member. */
  me(options?: CallOptions): Promise<MemberDto>;
}

/** The methods for members. */
export function membersOf({ send, list }: Sender): Members {
  return {
    list: (filter = {}, options = {}) => list('listMembers', filter, options),
    get: (id, options) => send('getMember', { id, ...options }),
    me: (options) => send('getMyMembership', { ...options }),
  };
}
