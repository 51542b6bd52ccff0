import { encodeCursor } from '../../../src/resource/cursor.js';
import { MISSING } from '../../setup/endpoints.js';
import type { Person, Response } from '../../setup/send.js';
import type { TestService } from '../../setup/service.js';
import { type CanaryClub, shownOf } from './clubs.js';
import { eachOf, type Operation } from './operations.js';
import { isWhole, type Tally } from './tally.js';

interface Listing {
  path: string;
  sort: string;
  /** The link to the second page. */
  cursor: string;
}

/** Attacks every list with altered, transferred and forged cursors. */
export async function attackCursors(
  service: TestService,
  operations: Operation[],
  { north, south }: { north: CanaryClub; south: CanaryClub },
  tally: Tally,
): Promise<void> {
  const subject = 'a Admin';
  const anna = service.as(subject, 'Admin', north.id);
  const sam = service.as('a Member of south', 'Member', south.id);
  // Those of a whole club. A cursor of a list of one shift is tested in test/api/attendance.test.ts.
  const lists = operations.filter(({ path, query }) => query.cursor !== undefined && !path.includes('{'));

  const list = async (title: string, person: Person, path: string, allowed: (number | string)[]) => {
    tally.tried += 1;
    const response = await person.get(path);
    const code = response.status < 400 ? response.status : response.body.code;
    if (response.status >= 500) {
      tally.serverErrors.push(`${title}: ${response.text}`);
    } else if (!allowed.includes(code)) {
      tally.succeeded.push(`${title}, ${path}: ${code}, and not ${allowed.join(' or ')}`);
    }
    const hidden = person === anna ? south : north;
    tally.leaks.push(...shownOf(hidden, response.text, path).map((word) => `${title}, ${path}: ${word}`));
    return response;
  };
  const either = [200, 'invalid_cursor'];
  const continueFrom = (
    title: string,
    { path, sort }: Listing,
    cursor: string,
    allowed: (number | string)[],
  ) => list(title, anna, `${path}?limit=1&sort=${sort}&cursor=${encodeURIComponent(cursor)}`, allowed);

  const listings: Listing[] = [];
  for (const { path, query } of lists) {
    for (const sort of query.sort?.enum ?? []) {
      const cursor = cursorOf(await list('the first page', anna, `${path}?limit=1&sort=${sort}`, [200]));
      listings.push({ path, sort, cursor });
      await continueFrom('an unchanged cursor', { path, sort, cursor }, cursor, [200]);
    }
  }

  // Each byte changed, removed and doubled.
  const altered = lists.flatMap(({ path }) => listings.find((listing) => listing.path === path) as Listing);
  const edits = altered.flatMap((listing) =>
    [...listing.cursor].flatMap((sign, at) =>
      [sign === 'A' ? 'B' : 'A', '', sign + sign, '%'].map((instead) => ({
        listing,
        cursor: listing.cursor.slice(0, at) + instead + listing.cursor.slice(at + 1),
      })),
    ),
  );
  const some = edits.filter((_, turn) => isWhole || turn % 13 === 0);
  await eachOf(
    some,
    async ({ listing, cursor }) => void (await continueFrom('an altered cursor', listing, cursor, either)),
  );

  // For every other list and order, and for the other club.
  const pairs = listings.flatMap((from) => listings.filter((to) => to !== from).map((to) => ({ from, to })));
  await eachOf(isWhole ? pairs : pairs.filter((_, turn) => turn % 7 === 0), async ({ from, to }) => {
    await continueFrom('a cursor of another list', to, from.cursor, ['invalid_cursor']);
  });
  for (const { path, sort, cursor } of listings) {
    await list('a cursor of another club', sam, `${path}?sort=${sort}&cursor=${cursor}`, ['invalid_cursor']);
    const isSearched = lists.some((one) => one.path === path && one.query.q !== undefined);
    const filter = isSearched ? 'q=a' : 'memberId=me';
    await list('a cursor of another filter', anna, `${path}?sort=${sort}&${filter}&cursor=${cursor}`, [
      'invalid_cursor',
    ]);
  }

  // Forged with knowledge of the format.
  for (const listing of isWhole ? listings : altered) {
    const [binding, key, id] = JSON.parse(Buffer.from(listing.cursor, 'base64url').toString());
    for (const parts of forgeries(binding, key, id, south)) {
      await continueFrom(
        'a forged cursor',
        listing,
        Buffer.from(JSON.stringify(parts)).toString('base64url'),
        either,
      );
    }
    const kept = { key, id };
    const scope = (clubId: string, path: string, caller: string | null, filters: unknown[] = []) =>
      JSON.stringify([clubId, path, listing.sort, filters, caller]);
    await continueFrom(
      'a correct cursor',
      listing,
      encodeCursor(kept, scope(north.id, listing.path, null)),
      [200],
    );
    for (const bound of [
      scope(south.id, listing.path, null),
      scope(north.id.toUpperCase(), listing.path, null),
      scope(north.id, '/api/clubs/me', null),
      scope(north.id, listing.path, subject),
      scope(north.id, listing.path, null, [['q', 'a']]),
      '',
    ]) {
      await continueFrom('a cursor of another scope', listing, encodeCursor(kept, bound), ['invalid_cursor']);
    }
  }

  // With `me` a cursor is valid for its caller only.
  const filters = [['assigneeId', 'me']];
  const own = (caller: string | null) =>
    encodeCursor(
      { key: '2200-01-01T00:00:00.000000Z', id: MISSING },
      JSON.stringify([north.id, '/api/tasks', '-createdAt', filters, caller]),
    );
  const mine = '/api/tasks?assigneeId=me&cursor=';
  await list('an own cursor', anna, mine + own(subject), [400, 'invalid_cursor', 200]);
  for (const caller of [null, 'a Member', north.subject, north.ids.member, '']) {
    await list('another caller’s cursor', anna, mine + own(caller), ['invalid_cursor']);
  }
}

function cursorOf(response: Response): string {
  const cursor = /cursor=([^&>]+)/.exec(String(response.headers.link))?.[1];
  if (cursor === undefined) {
    throw new Error(`The list has no second page: ${response.text}`);
  }
  return cursor;
}

/** Forged values for a binding, a sort key and an id. */
function forgeries(binding: string, key: string, id: string, other: CanaryClub): unknown[] {
  const values: unknown[] = [
    null, 0, -1, 1e308, true, {}, [], '', 'infinity', '-infinity', 'now', 'NaN', '2026-01-01', '2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00.000000+23:00', `2026-01-01T00:00:00.${'0'.repeat(300)}Z`,
    "'", "' or '1'='1", "'; select pg_sleep(4); --", '$1', '\\', '\0', '\ud800', '%', 'x'.repeat(3_000), other.inside,
    '\uffff', '~', ' ', { toString: 'x' }, [key],
  ]; // biome-ignore format: a list
  const ids = [
    ...Object.values(other.ids),
    other.id,
    MISSING,
    id.toUpperCase(),
    `{${id}}`,
    id.replaceAll('-', ''),
  ];
  return [
    ...values.flatMap((value) => [
      [binding, value, id],
      [binding, key, value],
      [value, key, id],
      [binding, value, value],
    ]),
    ...ids.flatMap((other) => [
      [binding, key, other],
      [binding, 'infinity', other],
    ]),
    [binding, key],
    [binding, key, id, id],
    [[binding, key, id]],
    { 0: binding, 1: key, 2: id, length: 3 },
    binding,
    null,
    [],
  ];
}
