import type { List } from './list.js';
import type { Sender } from './send.js';
import type { CallOptions, MemberDto, MemberFilter } from './types.js';

export interface Members {
  list(filter?: MemberFilter, options?: CallOptions): List<MemberDto>;
  get(id: string, options?: CallOptions): Promise<MemberDto>;
  /** You, in this club: your first request makes you a member of it. */
  me(options?: CallOptions): Promise<MemberDto>;
}

/** The methods about members. */
export function membersOf({ send, list }: Sender): Members {
  return {
    list: (filter = {}, options = {}) => list('listMembers', filter, options),
    get: (id, options) => send('getMember', { id, ...options }),
    me: (options) => send('getMyMembership', { ...options }),
  };
}
