import type { List } from './list.js';
import type { Sender } from './send.js';
import type {
  CallOptions,
  CreateMemberRequest,
  CreateOptions,
  ImportedMember,
  MemberChanges,
  MemberDto,
  MemberFilter,
} from './types.js';

export interface Members {
  list(filter?: MemberFilter, options?: CallOptions): List<MemberDto>;
  get(id: string, options?: CallOptions): Promise<MemberDto>;
  /** Your own member in this club. Your first request makes you a member. */
  me(options?: CallOptions): Promise<MemberDto>;
  /** Enters a member without a login. For Managers, as `import` and `update`. */
  create(member: CreateMemberRequest, options?: CreateOptions): Promise<MemberDto>;
  /** Enters up to 200 members without a login, all or none. It returns a member whose `reference` exists unchanged, so it can be repeated. */
  import(members: ImportedMember[], options?: CreateOptions): Promise<MemberDto[]>;
  /** Changes the given fields; null clears one. The name and the e-mail address only of a member without a login. */
  update(id: string, changes: MemberChanges, options?: CallOptions): Promise<MemberDto>;
  /** Deletes a member without a login whom nothing names. For Admins. */
  delete(id: string, options?: CallOptions): Promise<void>;
  /** Ends the membership of another member at once, with any token, or renews it. For Admins. */
  setMembership(id: string, status: 'Active' | 'Left', options?: CallOptions): Promise<MemberDto>;
  /** Makes what names a member without a login name another member, who is returned, and deletes the first. For Admins. */
  merge(id: string, into: string, options?: CreateOptions): Promise<MemberDto>;
}

/** The methods for members. */
export function membersOf({ send, list }: Sender): Members {
  return {
    list: (filter = {}, options = {}) => list('listMembers', filter, options),
    get: (id, options) => send('getMember', { id, ...options }),
    me: (options) => send('getMyMembership', { ...options }),
    create: (member, options) => send('createMember', { body: member, ...options }),
    import: (members, options) => send('importMembers', { body: { members }, ...options }),
    update: (id, changes, options) => send('updateMember', { id, body: changes, ...options }),
    delete: (id, options) => send('deleteMember', { id, ...options }),
    setMembership: (id, status, options) => send('setMembership', { id, body: { status }, ...options }),
    merge: (id, into, options) => send('mergeMembers', { id, body: { into }, ...options }),
  };
}
