/** Statements about members, and what an operator does to a club. */
import { erase, memberOf, syncMember } from '../members.js';
import type { Random } from '../random.js';
import { type Club, drawId, type World } from '../state.js';
import { drawText, updating } from './assignments.js';
import type { Here, Step } from './step.js';

/** Writes the caller's member from the token. */
export function drawSync({ token }: Here): Step {
  const issuedAt = token.issuedAt === null ? null : new Date(token.issuedAt * 1000).toISOString();
  return {
    text: 'select app.sync_member($1, $2, $3) as id',
    values: [token.name, token.email, issuedAt],
    rule: ({ world, club, role }, rows) => {
      const member = syncMember(world, club, token, role, String(rows[0]?.id));
      return { rows: 1, returned: [{ id: member?.id ?? null }] };
    },
  };
}

/** Updates all visible members: the caller's own row, with the role of the token or none. */
export function drawMemberUpdate(random: Random, here: Here): Step {
  const id = random.isTrue(0.6) ? undefined : drawId(random, here.world, here.club, ({ members }) => members);
  const name = drawText(random, here);
  const role = random.isTrue(0.7) ? undefined : random.pick(['Viewer', 'Admin'] as const);
  return {
    ...updating('members', { displayName: name, ...(role === undefined ? {} : { role }) }, id),
    rule: ({ club, token, role: ownRole }) => {
      const self = memberOf(club, token.subject);
      if (self === undefined || (id !== undefined && id !== self.id)) {
        return { rows: 0 };
      }
      if ((role ?? self.role) !== ownRole) {
        return { codes: ['42501'] };
      }
      Object.assign(self, { name, role: ownRole });
      return { rows: 1 };
    },
  };
}

/** Creates another subject's member. */
export function drawStranger(random: Random, here: Here): Step {
  const values = [`stranger ${random.hex(8)}`, drawText(random, here), here.role ?? 'Member'];
  return {
    text: 'insert into app.members (external_user_id, display_name, role) values ($1, $2, $3)',
    values,
    rule: () => ({ codes: ['42501'] }),
  };
}

/** An operator's action as a statement; changes the model at once. */
export function operate(random: Random, world: World, closable: Club): { text: string; values: unknown[] } {
  const club = random.pick([...world.clubs.values()]);
  const kind = random.weighted({ close: 3, erase: 2, rename: 2 });
  if (kind === 'close') {
    closable.isClosed = !closable.isClosed;
    return {
      text: `select app.${closable.isClosed ? 'close' : 'reopen'}_club($1)`,
      values: [closable.id],
    };
  }
  if (kind === 'erase' && club.members.size > 0) {
    const member = random.pick([...club.members.values()]);
    erase(member);
    return { text: 'select app.erase_member($1, $2)', values: [club.id, member.id] };
  }
  club.name = `${random.pick(['old', 'new', 'fine'])} ${club.canary}`;
  return { text: 'select app.rename_club($1, $2, $3)', values: [club.id, club.name, club.slug] };
}
