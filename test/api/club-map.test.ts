import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { checkRouting, routeClub } from '../../src/club-moves/haproxy.js';
import { freePort } from '../setup/free-port.js';
import { haproxyMissing, startHaproxy, type TestHaproxy } from '../setup/haproxy.js';
import { emptyFolder } from '../setup/pages.js';
import { serve } from '../setup/send.js';
import { until } from '../setup/wait.js';

/** Which cells are ready. */
const ready = { west: true, east: true };

/** A server in place of a cell: responds with the name of the cell. */
function startCell(name: keyof typeof ready): Promise<string> {
  const server = createServer(({ url }, response) => {
    response.statusCode = url === '/readyz' && !ready[name] ? 503 : 200;
    response.end(name);
  });
  return serve(t, server);
}

/** The cell that responds. The path is sent as it is. */
async function cellOf(haproxy: TestHaproxy, path: string, headers: Record<string, string> = {}) {
  const sent = request(haproxy.url, { path, headers, agent: false }).end();
  const [response] = await once(sent, 'response');
  return text(response);
}
const byHeader = (haproxy: TestHaproxy, id: string) => cellOf(haproxy, '/api/tasks', { 'x-tenant-id': id });

t.test(
  'the map of clubs in HAProxy, as docs/growing.md configures it',
  { skip: haproxyMissing },
  async (t) => {
    const cells = { west: await startCell('west'), east: await startCell('east') };
    const club = randomUUID().replace(/^./, 'a');

    await t.test(
      'a request goes to the cell of its club; a club that is not in the map is in the first cell',
      async (t) => {
        const haproxy = await startHaproxy(t, cells);
        const [first = '', ...rest] = club;
        const encoded = `%${first.charCodeAt(0).toString(16)}${rest.join('')}`;
        const requests: [string, Record<string, string>][] = [
          ['/api/tasks', { 'x-tenant-id': club }],
          ['/api/tasks', { 'X-Tenant-Id': club.toUpperCase() }],
          [`/calendars/${club}/secret.ics`, {}],
          [`/calendars/${club.toUpperCase()}/secret.ics`, {}],
          [`/calendars/${encoded}/secret.ics`, {}],
          [`/%63alendars/${encoded}/secret.ics`, {}],
          [`/calendars/${club}/secret.ics`, { 'x-tenant-id': randomUUID() }],
        ];
        for (const [path, headers] of requests) {
          t.equal(await cellOf(haproxy, path, headers), 'west', path);
        }
        await routeClub({ map: haproxy.map, sockets: [haproxy.socket] }, club, 'east');
        for (const [path, headers] of requests) {
          t.equal(await cellOf(haproxy, path, headers), 'east', `${path} ${JSON.stringify(headers)}`);
        }
        t.equal(await cellOf(haproxy, `/calendars/${randomUUID()}/secret.ics`), 'west');
        t.equal(await byHeader(haproxy, randomUUID()), 'west');
      },
    );

    await t.test('a request without a club goes to any cell that is ready', async (t) => {
      const haproxy = await startHaproxy(t, cells);
      t.teardown(() => {
        ready.west = true;
        ready.east = true;
      });
      /** The cells that four requests in turn reach. */
      const reached = async () => {
        const found = new Set<string>();
        for (const path of ['/livez', '/api/clubs/me', '/openapi.json', '/calendars']) {
          found.add(await cellOf(haproxy, path));
        }
        return [...found].sort();
      };
      await until(reached, ({ length }) => length === 2);
      for (const [down, left] of [
        ['west', 'east'],
        ['east', 'west'],
      ] as const) {
        ready[down] = false;
        await until(reached, (found) => String(found) === left);
        t.equal(await byHeader(haproxy, randomUUID()), 'west', 'not that of a club');
        ready[down] = true;
        await until(reached, ({ length }) => length === 2);
      }
    });

    await t.test('a route is changed in each running HAProxy, and is there after a restart', async (t) => {
      const one = await startHaproxy(t, cells);
      const two = await startHaproxy(t, cells, { map: one.map, socket: `127.0.0.1:${await freePort()}` });
      const both = { map: one.map, sockets: [one.socket, two.socket] };
      const other = randomUUID();
      await writeFile(one.map, `# clubs of other cells\n${other} east\n${club}\twest\n`);
      for (const cell of ['east', 'west', 'east', 'east']) {
        await routeClub(both, club, cell);
        for (const haproxy of [one, two]) {
          t.equal(await byHeader(haproxy, club), cell, 'the running one');
          await haproxy.kill();
          await haproxy.start();
          t.equal(await byHeader(haproxy, club), cell, 'after a restart');
          t.equal(await byHeader(haproxy, other), 'east', 'another club');
        }
        t.equal(await readFile(one.map, 'utf8'), `# clubs of other cells\n${other} east\n${club} ${cell}\n`);
      }
    });

    await t.test('a check names what a change would miss, and changes nothing', async (t) => {
      const haproxy = await startHaproxy(t, cells);
      const { map, socket } = haproxy;
      const isRefused = (given: { map: string; sockets: string[] }, cell: string, message: RegExp) =>
        t.rejects(checkRouting(given, club, cell), { name: 'ClubMoveRefused', message });
      const given = { map, sockets: [socket] };
      await checkRouting(given, club, 'east');
      await isRefused(given, 'eats', /^HAProxy at .+ has no backend eats\.$/);
      await isRefused({ map: `${map}.other`, sockets: [socket] }, 'east', /does not have the map/);
      await isRefused({ map, sockets: ['/none.sock'] }, 'east', /cannot be reached: .*ENOENT/);
      await writeFile(`${map}.new`, '');
      await isRefused(given, 'east', /\.new exists: another command changes the map, or was killed/);
      t.equal(await byHeader(haproxy, club), 'west');
    });

    await t.test('what cannot be changed is named, and the same call changes it later', async (t) => {
      const haproxy = await startHaproxy(t, cells);
      const { map, socket } = haproxy;
      const isRefused = (sockets: string[], file: string, message: RegExp) =>
        t.rejects(routeClub({ map: file, sockets }, club, 'east'), { name: 'ClubMoveRefused', message });
      await isRefused([socket, '/none.sock'], map, /^HAProxy at \/none\.sock cannot be reached: .*ENOENT/);
      const closed = `127.0.0.1:${await freePort()}`;
      await isRefused([closed], map, /^HAProxy at 127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/);
      const missing = join(await emptyFolder(t), 'other.map');
      await isRefused(
        [socket],
        missing,
        /^HAProxy at .+ refuses to change .+other\.map: Unknown map identifier/,
      );
      await isRefused([], missing, /^The file .+other\.map cannot be changed: ENOENT/);
      await writeFile(`${map}.new`, '');
      await isRefused([socket], map, /^The file .+ cannot be changed: EEXIST/);
      t.equal(await readFile(map, 'utf8'), '');
      await rm(`${map}.new`);
      await routeClub({ map, sockets: [socket] }, club, 'east');
      t.equal(await byHeader(haproxy, club), 'east');
    });
  },
);

t.test('commands at once lose no line of the file', async (t) => {
  const map = join(await emptyFolder(t), 'clubs.map');
  await writeFile(map, '');
  const clubs = Array.from({ length: 20 }, () => randomUUID());
  const isRouted = (id: string) =>
    routeClub({ map, sockets: [] }, id, 'east').then(
      () => true,
      () => false,
    );
  // A command that another one keeps from changing the file is repeated.
  await Promise.all(clubs.map((id) => until(() => isRouted(id), Boolean, { everyMs: 1 })));
  const lines = (await readFile(map, 'utf8')).trimEnd().split('\n');
  t.same(lines.sort(), clubs.map((id) => `${id} east`).sort());
});
