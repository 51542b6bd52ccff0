import t from 'tap';
import { ROLES, type Role } from '../../../src/roles.js';
import { comparablePart } from '../../setup/comparable.js';
import { fit, MISSING } from '../../setup/endpoints.js';
import type { Response } from '../../setup/send.js';
import { startService } from '../../setup/service.js';
import { type CanaryClub, rowsOf, seedClub, shownOf, silentColumns } from './clubs.js';
import { attackCursors } from './cursors.js';
import { type Attempt, attemptsAt } from './foreign-ids.js';
import { eachOf, fillPath, type Operation, operationsOf } from './operations.js';
import { attack, isWhole, someOf, type Tally } from './tally.js';
import { attackTenantHeader } from './tenant-header.js';

/** In the short run one of this many is sent, chosen by the seed. */
const SHARE = 16;
const service = await startService(t);
const north = await seedClub(service, 'north');
const south = await seedClub(service, 'south');
const operations = operationsOf(service.app);

/** A caller: the roles by club, and the Authorization header. */
interface Caller {
  name: string;
  roles: Map<string, Role>;
  authorization: string | undefined;
}

const callerWith = (name: string, roles: Record<string, Role>): Caller => ({
  name,
  roles: new Map(Object.entries(roles)),
  authorization: `Bearer ${service.token({ sub: name, name, clubs: roles })}`,
});
const callers = [
  callerWith('a stranger', {}),
  ...ROLES.map((role) => callerWith(`a ${role}`, { [north.id]: role })),
  callerWith('a Member of south', { [south.id]: 'Member' }),
  callerWith('a Viewer of south and Admin of north', { [south.id]: 'Viewer', [north.id]: 'Admin' }),
];
const altered = callerWith('an Admin', { [north.id]: 'Admin' }).authorization?.replace(/.(?=.{20}$)/, (letter) => (letter === 'A' ? 'B' : 'A')); // biome-ignore format: one thing
callers.push({ name: 'nobody', roles: new Map(), authorization: undefined });
callers.push({ name: 'a caller with an altered token', roles: new Map(), authorization: altered });

// The first request makes a caller a member, so that later ones create no row.
for (const { authorization = '', roles } of callers) {
  for (const id of roles.keys()) {
    await service.send('GET', '/api/members/me', { headers: { authorization, 'x-tenant-id': id } });
  }
}
const before = { north: await rowsOf(service.db, north.id), south: await rowsOf(service.db, south.id) };

const isInClub = ({ headers }: Operation) => headers.includes('X-Tenant-Id');

/** The words of a club that a caller may see: all of the club that they entered, and the names of their clubs. */
function mayShow(
  operation: Operation,
  { roles }: Caller,
  tenant: string | undefined,
  club: CanaryClub,
  word: string,
) {
  return isInClub(operation)
    ? tenant === club.id && roles.has(club.id) && ![club.key, club.secret].includes(word)
    : roles.has(club.id) && [club.id, club.front].includes(word);
}

/** Sends the variants of an attempt, whose responses must be equal, and show nothing of another club. */
async function send(
  attempt: Attempt,
  caller: Caller,
  tenant: string | undefined,
  tally: Tally,
): Promise<void> {
  const { name, operation, method, variants } = attempt;
  const title = `${caller.name} in ${tenant}, ${method} ${operation.path}, ${name}`;
  const isMember = !isInClub(operation) || caller.roles.has(tenant ?? '');
  const kinds = new Set<string>();
  for (const { path, body, headers } of variants) {
    const own = { authorization: caller.authorization, 'x-tenant-id': tenant };
    const given = Object.entries({ ...own, ...headers }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    tally.tried += 1;
    const options = { headers: Object.fromEntries(given), body };
    const response = await service.send(method, path, options).catch((error: Error) => error.message);
    if (typeof response === 'string') {
      tally.succeeded.push(`${title}: ${response}`);
      continue;
    }
    const { status, text } = response;
    if (status >= 500) {
      tally.serverErrors.push(`${title}: ${text}`);
    } else if (status < 400 && !(isMember && caller.authorization !== undefined)) {
      tally.succeeded.push(`${title}: ${status}`);
    }
    const received = text + JSON.stringify(response.headers);
    for (const club of [north, south]) {
      const shown = shownOf(club, received, JSON.stringify([path, body, headers]));
      const foreign = shown.filter((word) => !mayShow(operation, caller, tenant, club, word));
      tally.leaks.push(...foreign.map((word) => `${title}, ${path}: ${word}`));
    }
    // A list of the own club grows during the test.
    if (status >= 400 || text === '[]') {
      kinds.add(kindOfResponse(response, path));
    }
  }
  if (kinds.size > 1) {
    tally.succeeded.push(`${title}: ids are distinguishable: ${[...kinds].join(' and ')}`);
  }
}

const kindOfResponse = (response: Response, path: string) =>
  JSON.stringify(comparablePart(response, path.split('?', 1)[0] as string));

/** Requests for the rows of the club in the header by callers without a role in it, and reads by its members. */
function requestsForRows(operation: Operation, { roles }: Caller, club: CanaryClub): Attempt[] {
  const { method, path } = operation;
  if (roles.has(club.id) && method !== 'GET') {
    return [];
  }
  const body = fit(operation.body, club.rows);
  const variants = [{ path: fillPath(path, (kind) => String(club.ids[kind])), body }];
  return [{ name: 'the rows of the club', operation, method, variants }];
}

t.test('every text of a club is a canary', async (t) => {
  t.same(await silentColumns(service.db, north), []);
  t.same(await silentColumns(service.db, south), []);
});

t.test('at no endpoint does a caller see anything of another club, or whether an id of it exists', (t) =>
  attack(t, 'endpoints', isWhole ? 5_000 : 400, async (tally) => {
    const all = operations.flatMap((operation) =>
      callers.flatMap((caller) =>
        [north.id, south.id, undefined, MISSING, `${north.id.slice(0, -1)}g`].flatMap((tenant) => {
          const [own, other] = tenant === south.id ? [south, north] : [north, south];
          const attempts = [...attemptsAt(operation, own, other), ...requestsForRows(operation, caller, own)];
          return attempts.map((attempt) => ({ attempt, caller, tenant }));
        }),
      ),
    );
    await eachOf(someOf(all, SHARE), ({ attempt, caller, tenant }) => send(attempt, caller, tenant, tally));
  }),
);

t.test('only a single X-Tenant-Id with a plain UUID selects a club', (t) =>
  attack(t, 'the tenant header', 200, (tally) => attackTenantHeader(service, { north, south }, tally)),
);

t.test('an altered, transferred or forged cursor is refused or shows the own club’s rows', (t) =>
  attack(t, 'cursors', isWhole ? 1_500 : 200, (tally) =>
    attackCursors(service, operations, { north, south }, tally),
  ),
);

t.test('after all attacks the other club is unchanged, byte for byte', async (t) => {
  // Its Members can have links to their own calendars.
  const isOwnLink = (row: string) => row.startsWith('calendar_links ') && !row.includes(south.ids.member);
  t.same(
    (await rowsOf(service.db, south.id)).filter((row) => !isOwnLink(row)),
    before.south,
  );
  const after = new Set(await rowsOf(service.db, north.id));
  const changed = before.north.filter((row) => !after.has(row));
  t.same(changed, [], 'and no earlier row of the own club is changed');
});

t.test('after all attacks no event has a text of its club, except the title of a deleted row', async (t) => {
  const events = await service.db.queryAsAdmin<{ event: object; subject_title: string | null }>(
    "select to_jsonb(event) - 'subject_title' as event, subject_title from app.events as event",
  );
  t.same(
    events.filter(({ event }) => JSON.stringify(event).includes('-q7x')),
    [],
  );
  t.ok(events.some(({ subject_title }) => subject_title === south.inside));
});
