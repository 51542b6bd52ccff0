import { type Request, random } from './generator.js';
import type { Member, Testbed } from './testbed.js';

const TASKS = 200;
const SHIFTS = 50;
const REQUESTS = 5_000;

/** An active club: generates random requests, four of five of them reads. */
export interface BusyClub {
  /** One request of each member, so that every member exists before the measurement. */
  visits: Request[];
  nextRequest: () => Request;
}

/** Creates a club with this many members, and with tasks and shifts. */
export async function makeBusyClub(testbed: Testbed, slug: string, size: number): Promise<BusyClub> {
  const id = await testbed.makeClub(slug);
  const members = await Promise.all(
    Array.from({ length: size }, (_, place) => testbed.join(id, `${slug}-${place}`, 'Manager')),
  );
  const [tasks, shifts] = await Promise.all([
    testbed.queryAsAdmin(
      `insert into app.tasks (tenant_id, id, title, created_by_id)
       select $1, gen_random_uuid(), 'Task ' || n, null from generate_series(1, ${TASKS}) n returning id`,
      [id],
    ),
    testbed.queryAsAdmin(
      `insert into app.shifts (tenant_id, id, title, created_by_id, starts_at, ends_at, capacity)
       select $1, gen_random_uuid(), 'Shift ' || n, null, now() + n * interval '1 day', now() + (n + 0.1) * interval '1 day', 100
       from generate_series(1, ${SHIFTS}) n returning id`,
      [id],
    ),
  ]);
  const idOf = (rows: unknown[]) => (pick(rows) as { id: string }).id;
  const mix: [number, (member: Member) => Request][] = [
    [45, (member) => member('GET', '/api/tasks?limit=20')],
    [20, (member) => member('GET', `/api/tasks/${idOf(tasks)}`)],
    [15, (member) => member('GET', '/api/shifts?limit=20')],
    [10, (member) => member('PATCH', `/api/tasks/${idOf(tasks)}`, { title: `Task ${random()}` })],
    [5, (member) => member('POST', `/api/shifts/${idOf(shifts)}/signup`)],
    [5, (member) => member('DELETE', `/api/shifts/${idOf(shifts)}/signup`)],
  ];
  const word = () => {
    let rest = random() * 100;
    const [, wordOf] = mix.find(([weight]) => {
      rest -= weight;
      return rest < 0;
    }) as (typeof mix)[number];
    return wordOf(pick(members));
  };
  // Created in advance, because the generator has no time for it in a flood.
  const requests = Array.from({ length: REQUESTS }, word);
  const nextRequest = () => pick(requests);
  return { visits: members.map((member) => member('GET', '/api/tasks?limit=20')), nextRequest };
}

function pick<Item>(items: Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item;
}
