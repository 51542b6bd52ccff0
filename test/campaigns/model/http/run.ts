/** Sends random requests to the service, and compares each answer with the rules. */
import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import type { Response } from '../../../setup/send.js';
import type { TestService } from '../../../setup/service.js';
import { canariesIn, foreignIn } from '../leaks.js';
import type { Random } from '../random.js';
import { operate } from '../sql/members.js';
import type { Sums } from '../sql/run.js';
import type { Club, World } from '../state.js';
import { differencesOfState, makeWorld } from '../stored.js';
import type { Ask, Kind, Row, Verdict } from './ask.js';
import { changeRoster, drawAsk, drawRoster } from './draw.js';
import { judge, newcomerOf, OPERATIONS } from './rules.js';

export interface Site {
  service: TestService;
  operator: pg.Client;
  /** The log of the service. */
  lines: string[];
}

const LOOK_EVERY = 25;
const TIMES: Partial<Record<Kind, string[]>> = {
  listMembers: ['joinedAt', 'updatedAt'],
  getMember: ['joinedAt', 'updatedAt'],
  getMe: ['joinedAt', 'updatedAt'],
  getClub: ['createdAt'],
  listMyClubs: ['createdAt'],
};
const collator = new Intl.Collator('und');

/** Sends the request, and follows a list from page to page. */
async function send(
  { service }: Site,
  ask: Ask,
  limit: number,
): Promise<Response & { all: Row; sent: string }> {
  const { kind, clubId, token, roles, id, query, ifMatch, body } = ask;
  const { method, path } = OPERATIONS[kind];
  const headers: Record<string, string> = {};
  if (token !== null) {
    const { subject: sub, name, email, issuedAt } = token;
    const said = { sub, clubs: roles, ...(name && { name }), ...(email && { email }) };
    headers.authorization = `Bearer ${service.token({ iat: issuedAt ?? 0, ...said })}`;
  }
  if (clubId !== null) {
    headers['x-tenant-id'] = clubId;
  }
  if (ifMatch !== null) {
    headers['if-match'] = `"${ifMatch}"`;
  }
  const isList = kind.startsWith('list') && kind !== 'listMyClubs';
  const search = new URLSearchParams({ ...query, ...(isList && { limit: String(limit) }) }).toString();
  let url = path.replace(':id', id) + (search === '' ? '' : `?${search}`);
  const answer = await service.send(method, url, { headers, body });
  let all = answer.body;
  for (let page = answer; page.headers.link !== undefined; ) {
    url = /<(.*?)>/.exec(String(page.headers.link))?.[1] ?? '';
    page = await service.send('GET', url, { headers });
    all = [...all, ...(Array.isArray(page.body) ? page.body : [page.body])];
  }
  return { ...answer, all, sent: JSON.stringify([url, body ?? {}, roles]) };
}

function without(row: Row, names: string[] = []): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)));
}

/** The difference between the answer and the rules; undefined when they agree. */
function compare(ask: Ask, verdict: Verdict, { status, body, headers, all }: Response & { all: Row }) {
  const { code, details = {}, etag, location, list } = verdict;
  const extra = Object.fromEntries(Object.keys(details).map((name) => [name, body?.[name]]));
  const said = { status, code: body?.code, details: extra, etag: headers.etag, location: headers.location };
  const quoted = etag === undefined ? undefined : `"${etag}"`;
  const expected = { status: verdict.status, code, details, etag: quoted, location };
  if (!isDeepStrictEqual(said, expected)) {
    return { expected, said };
  }
  const times = TIMES[ask.kind];
  if (list !== undefined) {
    const rows = new Map(list.rows.map((row) => [row.id, row]));
    const got: Row[] = all.map((row: Row) => without(row, times));
    const keys = got.map((row) => list.key(row));
    const isOrdered = keys.every(
      (key, index) =>
        index === 0 || collator.compare(keys[index - 1] as string, key) * (list.isDescending ? -1 : 1) <= 0,
    );
    const isSame = got.length === rows.size && got.every((row) => isDeepStrictEqual(row, rows.get(row.id)));
    return isSame && isOrdered ? undefined : { isOrdered, expected: list.rows, said: got };
  }
  const shown = verdict.body === undefined || isDeepStrictEqual(without(body, times), verdict.body);
  return shown ? undefined : { expected: verdict.body, said: body };
}

async function tryAsk(site: Site, world: World, ask: Ask, limit: number): Promise<string | undefined> {
  const { service, lines } = site;
  const newcomer = newcomerOf(world, ask);
  lines.length = 0;
  try {
    const answer = await send(site, ask, limit);
    const members =
      newcomer === undefined
        ? []
        : await service.db.queryAsAdmin(
            'select id from app.members where tenant_id = $1 and external_user_id = $2',
            [ask.clubId, newcomer],
          );
    const verdict = judge(world, ask, answer.body, String(members[0]?.id));
    const visible = ask.kind === 'listMyClubs' ? Object.keys(ask.roles) : [ask.clubId ?? ''];
    const text = answer.text + JSON.stringify([answer.all, answer.headers]);
    const faults = {
      differs: compare(ask, verdict, answer),
      leaks: foreignIn(world, visible, text, answer.sent),
      logged: canariesIn(world, lines),
    };
    return faults.differs === undefined && faults.leaks.length + faults.logged.length === 0
      ? undefined
      : JSON.stringify({ ask, ...faults });
  } catch (error) {
    return JSON.stringify({ ask, error: String(error) });
  }
}

/** Seeds the clubs and sends this many requests, until the first difference. */
export async function runHttp(random: Random, site: Site, most: number): Promise<Sums> {
  const { db } = site.service;
  const world = await makeWorld(random, db);
  const roster = drawRoster(random, world);
  const clubIds = [...world.clubs.keys()];
  const kinds: Kind[] = [
    'getMe',
    'createTask',
    'createTask',
    'createTask',
    'createShift',
    'createShift',
    'signUp',
  ];
  const openings = clubIds.flatMap((clubId) =>
    kinds.map((kind) => ({ kind, clubId, subject: 'ada', roles: { [clubId]: 'Admin' } as const })),
  );
  const sums: Sums = { operations: 0, disagreements: [] };
  const note = (fault: string | undefined) => fault && sums.disagreements.push(fault);
  const now = Math.floor(Date.now() / 1000) - 3_600;
  for (; sums.operations < most && sums.disagreements.length === 0; sums.operations += 1) {
    const opening = openings[sums.operations];
    if (opening === undefined && random.isTrue(0.03)) {
      const { text, values } = operate(random, world, world.clubs.get(clubIds[2] ?? '') as Club);
      await site.operator.query(text, values);
    }
    if (random.isTrue(0.03)) {
      changeRoster(random, world, roster);
    }
    const ask = drawAsk(random, world, roster, now + sums.operations, opening);
    note(await tryAsk(site, world, ask, random.pick([7, 500, 500])));
    if (sums.operations % LOOK_EVERY === 0) {
      note((await differencesOfState(db, world))[0]);
    }
  }
  if (sums.disagreements.length === 0) {
    note((await differencesOfState(db, world))[0]);
  }
  return sums;
}
