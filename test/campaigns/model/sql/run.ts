/** Runs random transactions of the runtime role, and compares each statement with the rules. */
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import type { Role } from '../../../../src/roles.js';
import type { TestDatabase } from '../../../setup/database.js';
import { isCurrent, memberOf } from '../members.js';
import type { Random } from '../random.js';
import { type Club, drawToken, SUBJECTS, type World } from '../state.js';
import { differencesOfState, makeWorld } from '../stored.js';
import { drawStep, type Opening, openingsOf } from './draws.js';
import { operate } from './members.js';
import { type Expected, expectedOf, type Here, type Row } from './step.js';

export interface Clients {
  db: TestDatabase;
  api: pg.Client;
  operator: pg.Client;
}

export interface Sums {
  operations: number;
  /** The statement, the expected result, and the actual one. */
  disagreements: string[];
}

const ROLES: Role[] = ['Viewer', 'Member', 'Manager', 'Admin'];
/** The interval of comparisons with the stored rows, in statements. */
const LOOK_EVERY = 10;

async function ask(client: pg.Client, text: string, values: unknown[] = []) {
  try {
    const { rows, rowCount } = await client.query(text, values);
    return { code: 'ok', count: rowCount ?? 0, rows };
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) {
      throw error;
    }
    return { code: String(error.code), count: 0, rows: [] };
  }
}

const sorted = (rows: Row[]) => rows.map((row) => JSON.stringify(row)).sort();

/** The difference between the result and the allowed results; undefined when they agree. */
function compare(
  answer: { code: string; count: number; rows: Row[] },
  allowed: Expected[],
): string | undefined {
  const fits = allowed.some((one) =>
    'codes' in one
      ? one.codes.includes(answer.code)
      : answer.code === 'ok' &&
        one.rows === answer.count &&
        (one.returned === undefined || isDeepStrictEqual(sorted(one.returned), sorted(answer.rows))),
  );
  return fits ? undefined : `the rules say ${JSON.stringify(allowed)}, PostgreSQL ${JSON.stringify(answer)}`;
}

/** Reads the directory of clubs, outside of a club. */
async function tryDirectory(random: Random, world: World, api: pg.Client): Promise<string | undefined> {
  const named = [...world.clubs.values()].filter(() => random.isTrue(0.4));
  const ids = [...named.map(({ id }) => id), random.missingId()];
  await api.query('select app.enter_directory($1)', [ids]);
  const returned = named.filter(({ isClosed }) => !isClosed).map(({ id, name }) => ({ id, name }));
  return compare(await ask(api, 'select id, name from app.my_clubs()'), [
    { rows: returned.length, returned },
  ]);
}

async function enter(random: Random, world: World, api: pg.Client, now: number, given: Opening | undefined) {
  const clubs = [...world.clubs.values()];
  const club = world.clubs.get(given?.clubId ?? '') ?? random.pick(clubs.slice(0, -1));
  const isMissing = given === undefined && random.isTrue(0.02);
  const role = given === undefined ? random.pick(ROLES) : 'Admin';
  const token = drawToken(random, club, given?.subject ?? random.pick(SUBJECTS), now);
  const { rows } = await api.query(
    'select club_exists, member_id, member_is_current from app.enter($1, $2, $3, $4, $5, to_timestamp($6))',
    [isMissing ? random.missingId() : club.id, token.subject, role, token.name, token.email, token.issuedAt],
  );
  const isOpen = !isMissing && !club.isClosed;
  const member = isOpen ? memberOf(club, token.subject) : undefined;
  const here: Here = { world, club: isOpen ? club : undefined, role, token, member };
  const expected = {
    club_exists: isOpen,
    ...(isOpen && { member_id: member?.id ?? null }),
    ...(isOpen && { member_is_current: member === undefined ? null : isCurrent(member, token, role) }),
  };
  const came = isOpen ? rows[0] : { club_exists: rows[0].club_exists };
  const isSame = isDeepStrictEqual(came, expected);
  return { here, fault: isSame ? undefined : `entering: ${JSON.stringify({ expected, came })}` };
}

/** One transaction of a few statements, committed or rolled back. */
async function tryTransaction(
  random: Random,
  world: World,
  api: pg.Client,
  now: number,
  first?: Opening,
): Promise<{ steps: number; fault: string | undefined }> {
  const before = structuredClone(world);
  const isOutside = first === undefined && random.isTrue(0.03);
  await api.query('begin');
  let fault: string | undefined;
  let here: Here = {
    world,
    club: undefined,
    role: undefined,
    token: drawToken(random, undefined, 'ada', now),
    member: undefined,
  };
  if (!isOutside) {
    ({ here, fault } = await enter(random, world, api, now, first));
  }
  const said: string[] = [`${here.token.subject} as ${here.role} in ${here.club?.name}`];
  const count = first === undefined ? random.between(1, 3) : 1;
  let isKept = first !== undefined || random.isTrue(0.8);
  let steps = 0;
  while (fault === undefined && steps < count) {
    const step = first?.draw(random, here) ?? drawStep(random, here);
    steps += 1;
    said.push(`${step.text} ${JSON.stringify(step.values ?? [])}`);
    const answer = await ask(api, step.text, step.values);
    fault = compare(answer, expectedOf(step, here, answer.rows));
    if (answer.code !== 'ok') {
      isKept = false;
      break;
    }
  }
  if (fault === undefined && !isOutside && random.isTrue(0.05) && isKept) {
    fault = await tryDirectory(random, world, api);
  }
  await api.query(isKept ? 'commit' : 'rollback');
  if (!isKept) {
    world.clubs = before.clubs;
    world.births = before.births;
  }
  return { steps, fault: fault && `${said.join('; ')}: ${fault}` };
}

/** Seeds the clubs and runs this many statements, until the first difference. */
export async function runSql(random: Random, { db, api, operator }: Clients, most: number): Promise<Sums> {
  const world = await makeWorld(random, db);
  const sums: Sums = { operations: 0, disagreements: [] };
  const now = Math.floor(Date.now() / 1000) - 3600;
  const note = (fault: string | undefined) => fault && sums.disagreements.push(fault);
  const run = async (first?: Opening) => {
    const { steps, fault } = await tryTransaction(random, world, api, now + sums.operations, first);
    sums.operations += steps;
    note(fault);
  };
  const openings = openingsOf(world);
  for (let turn = 0; sums.operations < most && sums.disagreements.length === 0; turn += 1) {
    if (turn > openings.length && random.isTrue(0.04)) {
      const { text, values } = operate(random, world, [...world.clubs.values()][2] as Club);
      await operator.query(text, values);
    } else {
      await run(openings[turn]);
    }
    if (turn % LOOK_EVERY === 0) {
      note((await differencesOfState(db, world))[0]);
    }
  }
  if (sums.disagreements.length === 0) {
    note((await differencesOfState(db, world))[0]);
  }
  return sums;
}
