/** Compares the stored rows of every club, read as superuser, with the model. */
import { isDeepStrictEqual } from 'node:util';
import type { TestDatabase } from '../../setup/database.js';
import { foreignIn } from './leaks.js';
import type { Random } from './random.js';
import { planClubs, type World } from './state.js';

/** Creates the clubs, in the database and in the model. */
export async function makeWorld(random: Random, db: TestDatabase): Promise<World> {
  const world: World = { clubs: new Map(), births: 0 };
  for (const { canary, name, slug } of planClubs(random)) {
    const id = await db.makeClub(slug);
    const club = { id, canary, name, slug, isClosed: false };
    world.clubs.set(id, { ...club, members: new Map(), tasks: new Map(), shifts: new Map() });
  }
  return world;
}

const INSTANT = `'YYYY-MM-DD"T"HH24:MI:SS"Z"'`;

/** Every row, as the tenant, the id and its content. */
const STORED = `
  select 'clubs' as kind, id as tenant, id, jsonb_build_array(name, slug, closed_at is not null) as holds from app.clubs
  union all
  select 'members', tenant_id, id, jsonb_build_array(
    external_user_id, display_name, email, role, extract(epoch from token_issued_at)::bigint) from app.members
  union all
  select 'tasks', tenant_id, id, jsonb_build_array(title, description, state, assignee_id,
    to_char(due_at at time zone 'UTC', ${INSTANT}), created_by_id, completed_at is not null, version) from app.tasks
  union all
  select 'shifts', tenant_id, id, jsonb_build_array(title, location, description,
    to_char(starts_at at time zone 'UTC', ${INSTANT}), to_char(ends_at at time zone 'UTC', ${INSTANT}),
    capacity, signup_count, created_by_id, version) from app.shifts
  union all
  select 'signups', tenant_id, id, jsonb_build_array(shift_id, member_id) from app.shift_signups`;

function remembered(world: World): Map<string, unknown[]> {
  const rows = new Map<string, unknown[]>();
  for (const club of world.clubs.values()) {
    const add = (kind: string, id: string, holds: unknown[]) => rows.set(`${kind} ${club.id} ${id}`, holds);
    add('clubs', club.id, [club.name, club.slug, club.isClosed]);
    for (const { id, subject, name, email, role, issuedAt } of club.members.values()) {
      add('members', id, [subject, name, email, role, issuedAt]);
    }
    for (const task of club.tasks.values()) {
      const { id, title, description, state, assigneeId, dueAt, createdById, completedAt, version } = task;
      const isDone = completedAt !== null;
      add('tasks', id, [title, description, state, assigneeId, dueAt, createdById, isDone, version]);
    }
    for (const shift of club.shifts.values()) {
      const { id, title, location, description, startsAt, endsAt, capacity, createdById, version } = shift;
      const words = [title, location, description];
      const { length } = shift.signups;
      add('shifts', id, [...words, startsAt, endsAt, capacity, length, createdById, version]);
      for (const signup of shift.signups) {
        add('signups', signup.id, [id, signup.memberId]);
      }
    }
  }
  return rows;
}

/** The differences between the tables and the model, and the rows with another club's texts or ids: empty when correct. */
export async function differencesOfState(db: TestDatabase, world: World): Promise<string[]> {
  const stored = await db.queryAsAdmin<{ kind: string; tenant: string; id: string; holds: unknown[] }>(
    STORED,
  );
  const expected = remembered(world);
  const differences: string[] = [];
  for (const { kind, tenant, id, holds } of stored) {
    const key = `${kind} ${tenant} ${id}`;
    const model = expected.get(key);
    expected.delete(key);
    if (!isDeepStrictEqual(model, holds)) {
      differences.push(`stored ${key}: ${JSON.stringify(holds)}, the model has ${JSON.stringify(model)}`);
    }
  }
  for (const [key, holds] of expected) {
    differences.push(`not stored: ${key}: ${JSON.stringify(holds)}`);
  }
  return [...differences, ...strayRows(world, stored)];
}

/** Rows that hold a text or an id of another club than theirs. */
export function strayRows(
  world: World,
  stored: { kind: string; tenant: string; id: string; holds: unknown }[],
): string[] {
  return stored.flatMap(({ kind, tenant, id, holds }) => {
    const shown = foreignIn(world, [tenant], JSON.stringify(holds), '');
    return shown.map((word) => `${kind} ${id} of ${tenant} holds ${word} of another club`);
  });
}
