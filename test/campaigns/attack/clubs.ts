/** Clubs whose every text is a canary: wherever one of its words is seen, it is known whose it is. */
import type { TestDatabase } from '../../setup/database.js';
import { endpoints, SHIFT } from '../../setup/endpoints.js';
import { tablesOf } from '../../setup/scene.js';
import type { TestService } from '../../setup/service.js';

export interface CanaryClub {
  id: string;
  /** In the club's own name, which `GET /api/clubs/me` shows. */
  front: string;
  /** In every text that its Viewers or Members see. */
  inside: string;
  /** In the e-mail address of its member, which Managers see. */
  mail: string;
  /** The identity provider's name of its member, which Admins see. */
  subject: string;
  /** The key of a request that made something. */
  key: string;
  /** A row of each kind, by what its path calls one. */
  ids: Record<string, string> & { task: string; open: string; shift: string; member: string; signup: string };
}

export async function furnish(service: TestService, name: string): Promise<CanaryClub> {
  const canary = (place: string) => `${place}-of-${name}-q7x`;
  const id = await service.db.makeClub(canary('front'));
  const [inside, mail, subject, key] = ['inside', 'mail', 'subject', 'key'].map(canary) as [
    string,
    string,
    string,
    string,
  ];
  const admin = service.as(subject, 'Admin', id, { name: inside, email: `${mail}@example.org` });
  const texts = { title: inside, description: inside };
  const member = await admin.memberId();
  const task = (await admin.post('/api/tasks', { ...texts, assigneeId: member })).body.id;
  const open = (await admin.post('/api/tasks', texts)).body.id;
  const request = { ...SHIFT, ...texts, location: inside };
  const shift = (await admin.post('/api/shifts', request, { 'idempotency-key': key })).body.id;
  // A second one, so that every list has a second page.
  await admin.post('/api/shifts', { ...request, startsAt: '2100-01-01T09:00:00Z' });
  const signup = (await admin.post(`/api/shifts/${shift}/signup`)).body.id;
  const ids: CanaryClub['ids'] = { task, open, shift, member, signup };
  for (const { path, body } of endpoints.filter(
    ({ method, path }) => method === 'POST' && !path.includes(':id'),
  )) {
    const kind = path.slice('/api/'.length, -1);
    ids[kind] ??= (await admin.post(path, { ...(body as object), name: inside })).body.id;
  }
  return { id, front: canary('front'), inside, mail, subject, key, ids };
}

/** Texts from a fixed set, and what the service itself writes, are nobody's words. */
const NO_WORDS = [
  'clubs.time_zone',
  'members.role',
  'tasks.state',
  'idempotency_keys.location',
  'idempotency_keys.etag',
];

/** The tables that are filled with canaries; rows of other resources hold the words of their examples. */
const TABLES = ['clubs', 'members', 'tasks', 'shifts', 'shift_signups', 'idempotency_keys'];

/** The columns of text in which the club has no canary, from the catalog. */
export async function silentColumns(db: TestDatabase, club: CanaryClub): Promise<string[]> {
  const silent: string[] = [];
  for (const { name, floor } of await tablesOf(db)) {
    const columns = await db.look<{ column: string }>(
      `select attname as column from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped and atttypid = 'text'::regtype`,
      [`app.${name}`],
    );
    for (const { column } of TABLES.includes(name) ? columns : []) {
      const found = await db.look(
        `select from app.${name} where ${floor} = $1 and ${column} like '%-q7x%' limit 1`,
        [club.id],
      );
      silent.push(...(found.length > 0 ? [] : [`${name}.${column}`]));
    }
  }
  return silent.filter((column) => !NO_WORDS.includes(column));
}

/** Every row of the club, as the administrator sees it. */
export async function rowsOf(db: TestDatabase, clubId: string): Promise<string[]> {
  const rows: string[] = [];
  for (const { name, floor } of await tablesOf(db)) {
    const where = floor === null ? '' : `where ${floor} = '${clubId}'`;
    const found = await db.look<{ row: string }>(`select t::text as row from app.${name} as t ${where}`);
    rows.push(...found.map(({ row }) => `${name} ${row}`));
  }
  return rows.sort();
}

/** What of the club shows in a text, but for what the request said itself. */
export function shownOf(
  { id, front, inside, mail, subject, key, ids }: CanaryClub,
  text: string,
  sent: string,
): string[] {
  const words = [id, front, inside, mail, subject, key, ...Object.values(ids)];
  return words.filter((word) => text.includes(word) && !sent.toLowerCase().includes(word));
}
