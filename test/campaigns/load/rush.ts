import type { Generator } from './generator.js';
import type { Testbed } from './testbed.js';

/**
 * Signs this many new members up for a shift with this many places, within one second.
 *
 * @returns the number of answers by status
 */
export async function rush(
  testbed: Testbed,
  generator: Generator,
  members: number,
  places: number,
): Promise<Record<number, number>> {
  const club = await testbed.makeClub('rush');
  const [row] = await testbed.queryAsAdmin(
    `insert into app.shifts (tenant_id, id, title, created_by_id, starts_at, ends_at, capacity)
     values ($1, gen_random_uuid(), 'Rush', null, now() + interval '1 day', now() + interval '25 hours', $2)
     returning id`,
    [club, places],
  );
  const { id } = row as { id: string };
  const crowd = await Promise.all(
    Array.from({ length: members }, (_, place) => testbed.join(club, `rush-${place}`, 'Member')),
  );
  const requests = crowd.map((member) => member('POST', `/api/shifts/${id}/signup`));
  const arrivals = await generator.send(requests, 1);
  const counts: Record<number, number> = {};
  for (const { status } of arrivals) {
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}
