import type { Client } from 'pg';
import { findLink, replaceLink } from '../src/calendar/queries.js';
import { hashOf } from '../src/calendar/secret.js';
import { Database } from '../src/database/database.js';
import { type TenantTransaction, writeInTenant } from '../src/database/tenant-context.js';
import { withClient } from '../src/deploy/client.js';
import { ClubRefused, provisionClub } from '../src/deploy/provision-club.js';
import {
  ANNA,
  BEN,
  CALENDAR_SECRET,
  CLUB_ID,
  FULL_SHIFT_ID,
  IDA_ID,
  SHIFT_ID,
  SIGNED_UP_SHIFT_ID,
  STARTED_SHIFT_ID,
  TASK_ID,
} from '../src/examples.js';
import { insertMember } from '../src/members/queries.js';
import type { Role } from '../src/roles.js';
import { insertShift, listShifts, shiftOrders, updateShift } from '../src/shifts/queries.js';
import type { CreateShiftRequest } from '../src/shifts/schemas.js';
import type { SignupWindow } from '../src/shifts/times.js';
import { signUp } from '../src/signups/queries.js';
import { insertTask, patchTask } from '../src/tasks/queries.js';
import { TASK_STATES } from '../src/tasks/schemas.js';
import { exampleOfBody, readDocument } from './document.js';
import { type DemoClub, demoCaller, demoClubs, demoPeople, demoRoles } from './people.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * The demo shifts of club north, by title; `inDays` is their start in days from now. The first is always within the seven days
 * of docs/guides/nightly-script.md.
 */
const demoShifts = {
  'Boathouse cleaning': { inDays: 5, capacity: 8 },
  'Regatta catering': { inDays: 14, capacity: 2 },
  'Safety boat': { inDays: 14, capacity: 1 },
  'Jetty repair': { inDays: -7, capacity: 4 },
};
type DemoShift = keyof typeof demoShifts;

/**
 * Loads the demo data once: the clubs as an operator, all other rows as the people of the clubs, with the queries of
 * requests, so that the policies apply to the demo data too.
 *
 * If the data exists already, it moves the upcoming shifts, so that they are still in the future, and creates the examples
 * that somebody has deleted.
 */
export async function loadDemo(urls: {
  url: string;
  migrationUrl: string;
  /** The URL of the superuser, if there is one: the rows of the examples then get the ids of the OpenAPI document. */
  adminUrl?: string | undefined;
}): Promise<void> {
  const isNew = await provisionClubs(urls.migrationUrl);
  const database = new Database({ url: urls.url, size: 1, prepare: true, readsPerConnection: 1 });
  const as: As = (subject, club, work) => {
    const { id } = demoClubs[club];
    return writeInTenant(database, demoCaller(subject, id, demoRoles(subject)[id] as Role), 'loadDemo', work);
  };
  try {
    if (isNew) {
      await joinClubs(as);
      await makeShifts(as);
      await makeTasks(as);
      await makeCalendarLink(as);
      if (urls.adminUrl !== undefined) {
        await asSuperuser(urls.adminUrl, giveExampleIds);
      }
    } else {
      await moveShiftsOn(as);
      await makeCalendarLink(as);
      if (urls.adminUrl !== undefined) {
        await asSuperuser(urls.adminUrl, makeExamples);
      }
    }
  } finally {
    await database.close();
  }
}

type As = <Result>(
  subject: string,
  club: DemoClub,
  work: (tx: TenantTransaction) => Promise<Result>,
) => Promise<Result>;

async function provisionClubs(migrationUrl: string): Promise<boolean> {
  try {
    for (const club of Object.values(demoClubs)) {
      await provisionClub(migrationUrl, club);
    }
    return true;
  } catch (error) {
    if (error instanceof ClubRefused) {
      return false;
    }
    throw error;
  }
}

/**
 * Gives rows the ids of the examples in the OpenAPI document, and creates the missing rows, so that “Try it out” on /docs
 * works with the example values. It needs a superuser, because no request chooses an id and no policy lets the owner
 * change one.
 */
async function giveExampleIds(client: Client): Promise<void> {
  await replaceId(client, 'tasks', 'title', 'Order new oars', TASK_ID);
  await replaceId(client, 'shifts', 'title', 'Boathouse cleaning', SHIFT_ID);
  await replaceId(client, 'shifts', 'title', 'Regatta catering', SIGNED_UP_SHIFT_ID);
  await replaceId(client, 'shifts', 'title', 'Safety boat', FULL_SHIFT_ID);
  await replaceId(client, 'shifts', 'title', 'Jetty repair', STARTED_SHIFT_ID);
  await replaceId(client, 'members', 'external_user_id', 'anna', ANNA.id);
  await replaceId(client, 'members', 'external_user_id', 'ben', BEN.id);
  await replaceId(client, 'members', 'display_name', 'Ida Berg', IDA_ID);
  await makeExamples(client);
}

/** Runs the work in a transaction of the superuser without triggers. */
async function asSuperuser(adminUrl: string, work: (client: Client) => Promise<void>): Promise<void> {
  await withClient(adminUrl, async (client) => {
    await client.query('begin; set local session_replication_role = replica');
    await work(client);
    await client.query('commit');
  });
}

/** Changes the id of a row of club north, in every foreign key that refers to it and in events. */
async function replaceId(client: Client, table: string, column: string, value: string, id: string) {
  const { rows: keys } = await client.query<{ update: string }>(
    `select format('update %1$s set %2$I = $1 where tenant_id = $2 and %2$I = (select id from app.%3$I where tenant_id = $2 and %4$I = $3)',
       conrelid::regclass, attname, $1::text, $2::text) as update
     from pg_constraint join pg_attribute on attrelid = conrelid and attnum = conkey[2]
     where contype = 'f' and confrelid = format('app.%I', $1::text)::regclass`,
    [table, column],
  );
  const [relation, name] = [table, column].map((part) => client.escapeIdentifier(part));
  const events = `update app.events as event
    set (subject_id, actor_id, member_id, changes) = (
      select changed.subject_id, changed.actor_id, changed.member_id, changed.changes
      from app.${relation} as old,
        jsonb_populate_record(event, replace(to_jsonb(event)::text, old.id::text, $1)::jsonb) as changed
      where old.tenant_id = $2 and old.${name} = $3
    )
    where event.tenant_id = $2`;
  const own = `update app.${relation} set id = $1 where tenant_id = $2 and ${name} = $3`;
  for (const update of [...keys.map(({ update }) => update), events, own]) {
    await client.query(update, [id, CLUB_ID, value]);
  }
}

/** Creates the rows of each example of a POST that the demo data does not have. */
async function makeExamples(client: Client): Promise<void> {
  await client.query(
    `select set_config('app.tenant_id', $1, true), set_config('app.member_id', $2, true),
       set_config('app.user_id', 'anna', true), set_config('app.role', 'Admin', true)`,
    [CLUB_ID, ANNA.id],
  );
  const document = await readDocument();
  const { paths } = document;
  for (const [path, { post }] of Object.entries(paths)) {
    const examples = [
      post?.responses['201']?.content?.['application/json']?.example ?? [],
    ].flat() as object[];
    const { get } = paths[`${path}/{id}`] ?? {};
    const id = get?.parameters?.find((parameter) => parameter.in === 'path')?.example;
    const read = get?.responses['200']?.content?.['application/json']?.example;
    const table = /^\/api\/([\w-]+)(\/batch)?$/.exec(path)?.[1]?.replaceAll('-', '_');
    if (post === undefined || table === undefined) {
      continue;
    }
    // What a request sets is that of the row that is read: a POST of its example can then create another row.
    const sent = Object.keys(exampleOfBody(post, document) ?? {});
    const set = Object.entries(read ?? {}).filter(([name]) => sent.includes(name));
    for (const example of examples) {
      const row = {
        tenant_id: CLUB_ID,
        ...inSnakeCase({ ...example, ...Object.fromEntries(set), ...(id === undefined ? {} : { id }) }),
      };
      const { rows: inserts } = await client.query<{ insert: string }>(
        `select format('insert into %1$s (%2$s) select %2$s from jsonb_populate_record(null::%1$s, $1) on conflict do nothing',
           attrelid::regclass, string_agg(quote_ident(attname), ', ')) as insert
         from pg_attribute
         where attrelid = to_regclass('app.' || quote_ident($1)) and attnum > 0 and not attisdropped and attgenerated = ''
           and attname = any ($2)
         group by attrelid`,
        [table, Object.keys(row)],
      );
      for (const { insert } of inserts) {
        await client.query(insert, [JSON.stringify(row)]);
      }
    }
  }
}

/** The fields of a DTO by column name. */
function inSnakeCase(dto: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(dto).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}

/** Creates the members: the first transaction in a club creates the row. One has no login. */
async function joinClubs(as: As): Promise<void> {
  for (const [subject, { roles }] of Object.entries(demoPeople)) {
    for (const club of Object.keys(roles) as DemoClub[]) {
      await as(subject, club, async () => {});
    }
  }
  await as('anna', 'north', (tx) => insertMember(tx, { displayName: 'Ida Berg' }));
}

async function makeShifts(as: As): Promise<void> {
  const ids = new Map<DemoShift, string>();
  for (const title of Object.keys(demoShifts) as DemoShift[]) {
    // Past ones are created in the future first, because signups for past shifts are rejected.
    const { inDays } = demoShifts[title];
    const shift = await as('anna', 'north', (tx) => insertShift(tx, shiftOf(title, inDays > 0 ? inDays : 7)));
    ids.set(title, shift.parse().id);
  }
  for (const [title, subjects] of [
    ['Regatta catering', ['dora', 'cleo']],
    ['Safety boat', ['dora']],
    ['Jetty repair', ['ben', 'cleo']],
  ] as const) {
    for (const subject of subjects) {
      await as(subject, 'north', (tx) => tx.query(signUp(ids.get(title) as string)));
    }
  }
  for (const [title, { inDays }] of Object.entries(demoShifts) as [DemoShift, { inDays: number }][]) {
    await as('anna', 'north', (tx) => updateShift(tx, ids.get(title) as string, shiftOf(title, inDays)));
  }
  await as('cleo', 'south', (tx) =>
    insertShift(tx, { ...shiftOf('Boathouse cleaning', 7), title: 'Court maintenance' }),
  );
}

function shiftOf(title: DemoShift, inDays: number): CreateShiftRequest & SignupWindow {
  const start = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS + inDays * DAY_MS;
  return {
    title,
    location: 'Club house',
    description: null,
    capacity: demoShifts[title].capacity,
    startsAt: new Date(start).toISOString(),
    endsAt: new Date(start + 2 * HOUR_MS).toISOString(),
    signupOpensAt: null,
    signupClosesAt: null,
    cancelUntil: null,
  };
}

async function moveShiftsOn(as: As): Promise<void> {
  await as('dora', 'north', async (tx) => {
    const page = { order: shiftOrders.startsAt, descending: true, limit: 500, after: undefined, scope: '' };
    for (const shift of await tx.query(listShifts({}, page))) {
      const title = shift.title as DemoShift;
      const inDays = demoShifts[title]?.inDays ?? 0;
      if (inDays > 0 && Date.parse(shift.startsAt) < Date.now() + DAY_MS) {
        await updateShift(tx, shift.id, { ...shiftOf(title, inDays), capacity: shift.capacity });
      }
    }
  });
}

/** Creates the link of the example in the OpenAPI document, unless Ben has created one. */
async function makeCalendarLink(as: As): Promise<void> {
  await as('ben', 'north', async (tx) => {
    const [link] = await tx.query(findLink());
    return link ?? replaceLink(tx, hashOf(CALENDAR_SECRET));
  });
}

/** Creates one task in each state, moved there step by step. */
async function makeTasks(as: As): Promise<void> {
  const titles = [
    'Order new oars',
    'Paint the fence',
    'Update the website',
    'Check the life jackets',
    'Book the coach',
  ];
  const tomorrow = new Date(Date.now() + DAY_MS).toISOString();
  for (const [position, title] of titles.entries()) {
    const task = await as('anna', 'north', (tx) =>
      insertTask(tx, {
        title,
        description: `Shows a task in the state ${TASK_STATES[position]}.`,
        ...(['Assigned', 'InProgress'].includes(TASK_STATES[position] as string) && { dueAt: tomorrow }),
      }),
    );
    const { id } = task.parse();
    for (const state of TASK_STATES.slice(1, position + 1)) {
      await as('ben', 'north', (tx) => tx.query(patchTask(id, { state }, null)));
    }
  }
}
