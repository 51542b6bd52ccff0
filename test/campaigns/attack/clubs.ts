/** Clubs in which every text is a canary: a canary in a response identifies its club. */
import type { TestDatabase } from '../../setup/database.js';
import { fit, makers, SHIFT, textsOf } from '../../setup/endpoints.js';
import type { TestService } from '../../setup/service.js';
import { tablesOf } from '../../setup/testbed.js';
import { foreignIds, foreignTexts } from '../rules.js';

export interface CanaryClub {
  id: string;
  /** In the club's name, which `GET /api/clubs/me` shows. */
  front: string;
  /** In every text that its Viewers or Members see. */
  inside: string;
  /** In the e-mail address and the reference of its member, which Managers see. */
  mail: string;
  /** The subject of its member, which Admins see. */
  subject: string;
  /** The Idempotency-Key of a request that created a row. */
  key: string;
  /** The secret of the link to its member's calendar. */
  secret: string;
  /** A row id of each kind, by its path parameter. */
  ids: Record<string, string> & {
    task: string;
    open: string;
    shift: string;
    member: string;
    signup: string;
    event: string;
  };
  /** A row of each list, by its path. */
  rows: Record<string, string>;
}

/** The path parameter of a row of a list. */
export function kindOf(path: string): string {
  return /^\/api\/([\w-]+)s(\/|$)/.exec(path)?.[1] ?? '';
}

export async function seedClub(service: TestService, name: string): Promise<CanaryClub> {
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
  await admin.patch(`/api/members/${member}`, { reference: mail });
  const task = (await admin.post('/api/tasks', { ...texts, assigneeId: member })).body.id;
  const open = (await admin.post('/api/tasks', texts)).body.id;
  const request = { ...SHIFT, ...texts, location: inside };
  const shift = (await admin.post('/api/shifts', request, { 'idempotency-key': key })).body.id;
  // Two of each, so that every list has a second page.
  const other = (await admin.post('/api/shifts', { ...request, startsAt: '2100-01-01T09:00:00Z' })).body.id;
  await admin.put(`/api/shifts/${other}/signups/${member}`);
  const signup = (await admin.post(`/api/shifts/${shift}/signup`)).body.id;
  for (const status of ['Attended', 'NoShow']) {
    const past = { startsAt: '2020-01-01T10:00:00Z', endsAt: '2020-01-01T12:00:00Z' };
    const { headers } = await admin.post('/api/shifts', { ...request, ...past });
    await admin.put(`${headers.location}/attendance/${member}`, { status });
  }
  const [{ batchId: batch }] = (await admin.post('/api/shifts/batch', { shifts: [request] })).body;
  const { url } = (await admin.put('/api/members/me/calendar')).body;
  const secret = /([^/]+)\.ics$/.exec(url)?.[1] as string;
  // The event of a deletion has the title.
  await admin.delete(String((await admin.post('/api/tasks', texts)).headers.location));
  const event = (await admin.get('/api/events?limit=1')).body[0].id;
  const ids: CanaryClub['ids'] = { task, open, shift, member, signup, batch, event };
  const rows: Record<string, string> = { '/api/members': member, '/api/tasks': task, '/api/shifts': shift };
  for (const { path, body } of makers.filter(({ path }) => rows[path] === undefined)) {
    const make = (text: string) =>
      admin.post(path, {
        ...(fit(body, rows) as object),
        ...Object.fromEntries(textsOf(path).map((name) => [name, text])),
      });
    await make(`${inside} 2`);
    const { status, body: row } = await make(inside);
    if (status !== 201) {
      throw new Error(`${path} refuses its example: ${JSON.stringify(row)}`);
    }
    rows[path] = row.id;
    ids[kindOf(path)] = row.id;
  }
  return { id, front: canary('front'), inside, mail, subject, key, secret, ids, rows };
}

/** Columns that an operator or the service writes, without a canary. */
const NO_WORDS = [
  'clubs.time_zone',
  'clubs.move_state',
  'clubs.move_target',
  'events.type',
  'idempotency_keys.location',
  'idempotency_keys.etag',
];

/** The text columns without a canary of the club, from the catalog; except those fixed by a check or a key. */
export async function silentColumns(db: TestDatabase, club: CanaryClub): Promise<string[]> {
  const silent: string[] = [];
  for (const { name, floor } of await tablesOf(db)) {
    const columns = await db.queryAsAdmin<{ column: string }>(
      `select attname as column from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped and atttypid = 'text'::regtype
         and not exists (
           select from pg_constraint
           where conrelid = attrelid and conkey = array[attnum]
             and (contype = 'f' or contype = 'c' and pg_get_constraintdef(oid) ~ 'ANY \\(ARRAY\\[')
         )`,
      [`app.${name}`],
    );
    for (const { column } of floor === null ? [] : columns) {
      const found = await db.queryAsAdmin(
        `select from app.${name} where ${floor} = $1 and ${column} like '%-q7x%' limit 1`,
        [club.id],
      );
      silent.push(...(found.length > 0 ? [] : [`${name}.${column}`]));
    }
  }
  return silent.filter((column) => !NO_WORDS.includes(column));
}

/** Every row of the club, read as administrator. */
export async function rowsOf(db: TestDatabase, clubId: string): Promise<string[]> {
  const rows: string[] = [];
  for (const { name, floor } of await tablesOf(db)) {
    const where = floor === null ? '' : `where ${floor} = '${clubId}'`;
    const found = await db.queryAsAdmin<{ row: string }>(
      `select t::text as row from app.${name} as t ${where}`,
    );
    rows.push(...found.map(({ row }) => `${name} ${row}`));
  }
  return rows.sort();
}

/** The canaries of the club in a text, except those that the request contained. */
export function shownOf(
  { id, front, inside, mail, subject, key, secret, ids }: CanaryClub,
  text: string,
  sent: string,
): string[] {
  const marks = [{ words: [front, inside, mail, subject, key, secret], ids: [id, ...Object.values(ids)] }];
  return [...foreignTexts(marks, text, sent), ...foreignIds(marks, text, sent)];
}
