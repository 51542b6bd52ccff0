/** The rules of members: created by their first request, updated by a token that is not older. */
import type { Role } from '../../../src/roles.js';
import { type Caller, type Club, type Member, reaches, type Token, type World } from './state.js';

export const memberOf = (club: Club, subject: string): Member | undefined =>
  [...club.members.values()].find((member) => member.subject === subject);

/** Whether the token is older than the one that last changed the member. */
function isOlder(member: Member, { issuedAt }: Token): boolean {
  return member.issuedAt !== null && (issuedAt === null || issuedAt < member.issuedAt);
}

/** Whether a request with the token changes nothing: the token is older, or its claims are equal. */
export function isCurrent(member: Member, token: Token, role: Role): boolean {
  const { name, email } = member;
  const saysSame = (token.name ?? name) === name && (token.email ?? email) === email && role === member.role;
  return isOlder(member, token) || saysSame;
}

/** Creates or updates the member from the token; undefined when the token is older. */
export function syncMember(
  world: World,
  club: Club,
  token: Token,
  role: Role,
  id: string,
): Member | undefined {
  const { subject, name, email, issuedAt } = token;
  const member = memberOf(club, subject);
  if (member === undefined) {
    const firstName = name ?? email?.split('@')[0] ?? 'Member';
    const joined = { id, subject, name: firstName, email, role, issuedAt, order: ++world.births };
    club.members.set(id, joined);
    return joined;
  }
  if (isOlder(member, token)) {
    return undefined;
  }
  return Object.assign(member, {
    name: name ?? member.name,
    email: email ?? member.email,
    role,
    issuedAt,
  });
}

/** The member of a request, created or updated from its token. */
export function enter(world: World, club: Club, token: Token, role: Role, newId: string): Member {
  const member = memberOf(club, token.subject);
  if (member === undefined || !isCurrent(member, token, role)) {
    syncMember(world, club, token, role, newId);
  }
  return memberOf(club, token.subject) as Member;
}

/** Erases a member, as an operator does. */
export function erase(member: Member): void {
  Object.assign(member, {
    subject: `erased:${member.id}`,
    name: 'Former member',
    email: null,
    issuedAt: null,
  });
}

/** A member as the caller sees it, without the times. */
export function memberDto({ club, role, member: self }: Caller, member: Member) {
  const isSelf = member.id === self.id;
  return {
    id: member.id,
    clubId: club.id,
    displayName: member.name,
    email: isSelf || reaches(role, 'Manager') ? member.email : null,
    role: member.role,
    externalUserId: isSelf || reaches(role, 'Admin') ? member.subject : null,
  };
}
