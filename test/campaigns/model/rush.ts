/** Many concurrent clients. The allowed answers of each follow from its own requests; the final state must agree. */
import type { Role } from '../../../src/roles.js';
import type { Person, Response } from '../../setup/send.js';
import type { TestService } from '../../setup/service.js';
import { placeFaults } from '../rules.js';
import { canariesIn, foreignIn } from './leaks.js';
import type { Random } from './random.js';
import type { Sums } from './sql/run.js';
import { type Club, SUBJECTS, type World } from './state.js';
import { makeWorld, strayRows } from './stored.js';

interface Client extends Person {
  club: Club;
  role: Role;
  subject: string;
  /** The shifts for which it signed up. */
  signedUp: Set<string>;
}

/** The combined knowledge of all clients. */
interface Ledger {
  world: World;
  operations: number;
  faults: string[];
  /** The versions in the answers, by task or shift. */
  versions: Map<string, number[]>;
}

const HOURS = { startsAt: '2099-01-01T08:00:00Z', endsAt: '2099-01-01T10:00:00Z' };

/** Waits for the answer and checks it: one of these codes, and no data of another club. */
async function check(
  ledger: Ledger,
  { club }: Client,
  what: string,
  call: Promise<Response>,
  codes: string[],
): Promise<Response> {
  const { status, body, headers, text } = await call.catch((error) => ({
    status: 500,
    body: { code: String(error) },
    headers: {},
    text: '',
  }));
  ledger.operations += 1;
  if (!codes.includes(status < 400 ? String(status) : body?.code)) {
    ledger.faults.push(`${what}: ${status} ${body?.code}, not ${codes.join(' or ')}`);
  }
  const leaks = foreignIn(ledger.world, [club.id], text + JSON.stringify(headers), '');
  ledger.faults.push(...leaks.map((leak) => `${what}: ${leak}`));
  return { status, body, headers, text };
}

/** Signs up; an already signed up client must get that error, otherwise the shift may be full. */
async function signUp(ledger: Ledger, client: Client, shiftId: string): Promise<number> {
  const codes = client.signedUp.has(shiftId) ? ['already_signed_up'] : ['201', 'shift_full'];
  const call = client.post(`/api/shifts/${shiftId}/signup`);
  const { status } = await check(ledger, client, 'signing up', call, codes);
  if (status === 201) {
    client.signedUp.add(shiftId);
  }
  return status;
}

async function cancel(ledger: Ledger, client: Client, shiftId: string): Promise<void> {
  const codes = [client.signedUp.delete(shiftId) ? '204' : 'signup_not_found'];
  await check(ledger, client, 'cancelling', client.delete(`/api/shifts/${shiftId}/signup`), codes);
}

/** Writes a unique title, so that each success is a change: of the version that the writer of a task named. */
async function write(ledger: Ledger, client: Client, random: Random, path: string, isTask: boolean) {
  const title = `${client.club.canary} ${random.hex(12)}`;
  const version = Math.max(1, ...(ledger.versions.get(path) ?? []));
  const call = isTask
    ? client.patch(path, { title, version })
    : client.put(path, { title, ...HOURS, capacity: random.between(1, 4) });
  const refusal = isTask ? 'task_version_conflict' : 'capacity_below_signups';
  const { status, body } = await check(ledger, client, 'writing', call, ['200', refusal]);
  if (status === 200) {
    ledger.versions.set(path, [...(ledger.versions.get(path) ?? []), body.version]);
    if (isTask && body.version !== version + 1) {
      ledger.faults.push(`${path}: a write of version ${version} made version ${body.version}`);
    }
  }
}

async function act(ledger: Ledger, client: Client, random: Random, tasks: string[], shifts: string[]) {
  const shift = random.pick(shifts);
  const kind = random.weighted({ signUp: 4, cancel: 3, patch: 4, put: 2, read: 2 });
  if (kind === 'signUp') {
    await signUp(ledger, client, shift);
  } else if (kind === 'cancel') {
    await cancel(ledger, client, shift);
  } else if (kind === 'patch' || (kind === 'put' && client.role === 'Manager')) {
    const path = kind === 'patch' ? `/api/tasks/${random.pick(tasks)}` : `/api/shifts/${shift}`;
    await write(ledger, client, random, path, kind === 'patch');
  } else {
    const path = random.pick(['/api/tasks', '/api/shifts', '/api/members', `/api/shifts/${shift}`]);
    await check(ledger, client, 'reading', client.get(path), ['200']);
  }
}

/** All clients compete for the places of a new shift: each place is given once, and all others get shift_full. */
async function race(ledger: Ledger, clients: Client[], random: Random): Promise<void> {
  const capacity = random.between(1, 3);
  const [first] = clients as [Client];
  const shift = { title: first.club.canary, ...HOURS, capacity };
  const { body } = await check(ledger, first, 'making', first.post('/api/shifts', shift), ['201']);
  const statuses = await Promise.all(clients.map((client) => signUp(ledger, client, body.id)));
  const given = statuses.filter((status) => status === 201).length;
  if (given !== Math.min(capacity, clients.length)) {
    ledger.faults.push(`${given} got one of ${capacity} places`);
  }
  const [holder] = clients.filter(({ signedUp }) => signedUp.has(body.id));
  if (holder === undefined || ledger.faults.length > 0) {
    return;
  }
  await cancel(ledger, holder, body.id);
  const path = `/api/shifts/${body.id}/signup`;
  const codes = ['201', 'already_signed_up'];
  const calls = [1, 2, 3].map(() => check(ledger, holder, 'thrice', holder.post(path), codes));
  if ((await Promise.all(calls)).filter(({ status }) => status === 201).length !== 1) {
    ledger.faults.push('signing up three times at once did not succeed once');
  }
  holder.signedUp.add(body.id);
}

/** Compares the stored rows with the answers. */
async function settle(ledger: Ledger, clients: Client[], { db }: TestService): Promise<void> {
  const { world, versions, faults } = ledger;
  const rows = await db.queryAsAdmin(`
    select 'shifts' as kind, tenant_id as tenant, id, row_to_json(shift) as holds,
      version, capacity, signup_count as counter,
      (select array_agg(external_user_id order by external_user_id)
       from app.shift_signups as signup join app.members as member on member.id = signup.member_id
       where shift_id = shift.id and signup.tenant_id = shift.tenant_id) as subjects
    from app.shifts as shift
    union all select 'tasks', tenant_id, id, row_to_json(task), version, 0, 0, null from app.tasks as task
    union all select 'members', tenant_id, id, row_to_json(member), 1, 0, 0, null from app.members as member`);
  faults.push(...strayRows(world, rows as Parameters<typeof strayRows>[1]));
  for (const { kind, tenant, id, version, capacity, counter, subjects } of rows) {
    const given = (versions.get(`/api/${kind}/${id}`) ?? []).sort((a, b) => a - b);
    if (version !== given.length + 1 || given.some((one, index) => one !== index + 2)) {
      faults.push(`${kind} ${id} has version ${version}, and the answers said ${given}`);
    }
    const own = clients.filter(({ club, signedUp }) => club.id === tenant && signedUp.has(id));
    const expected = own.map(({ subject }) => subject).sort();
    const stored: string[] = subjects ?? [];
    if (stored.join() !== expected.join()) {
      faults.push(`shift ${id}: ${stored}, and the answers said ${expected}`);
    }
    const places = placeFaults({ capacity, signupCount: counter }, stored);
    faults.push(...places.map(({ proof }) => `shift ${id}: ${proof}`));
  }
}

/** Sends this many requests from all clients concurrently, with as many races for places as fit. */
export async function runRush(
  random: Random,
  { service, lines }: { service: TestService; lines: string[] },
  most: number,
): Promise<Sums> {
  const world = await makeWorld(random, service.db);
  const ledger: Ledger = { world, operations: 0, faults: [], versions: new Map() };
  const clubs = [...world.clubs.values()].slice(0, -1);
  const turns = Math.ceil(most / 2 / clubs.length / SUBJECTS.length);
  const all = await Promise.all(clubs.map((club) => rush(ledger, club, random, service, turns)));
  while (ledger.operations < most && ledger.faults.length === 0) {
    await Promise.all(all.map((clients) => race(ledger, clients, random)));
  }
  await settle(ledger, all.flat(), service);
  const logged = canariesIn(world, lines).map((canary) => `${canary} is in the log`);
  return { operations: ledger.operations, disagreements: [...ledger.faults, ...logged] };
}

async function rush(ledger: Ledger, club: Club, random: Random, service: TestService, turns: number) {
  const clients = SUBJECTS.map((subject, index): Client => {
    const role = index < 2 ? 'Manager' : 'Member';
    const person = service.as(subject, role, club.id, { name: `${club.canary} ${subject}` });
    return { ...person, club, role, subject, signedUp: new Set() };
  });
  const [manager] = clients as [Client];
  const make = async (path: string, body: object): Promise<string> => {
    const call = manager.post(path, { title: club.canary, ...body });
    return (await check(ledger, manager, 'making', call, ['201'])).body.id;
  };
  const tasks = await Promise.all([1, 2].map(() => make('/api/tasks', {})));
  const shifts = await Promise.all([1, 2].map(() => make('/api/shifts', { ...HOURS, capacity: 2 })));
  await Promise.all(
    clients.map(async (client) => {
      for (let left = turns; left > 0; left -= 1) {
        await act(ledger, client, random, tasks, shifts);
      }
    }),
  );
  return clients;
}
