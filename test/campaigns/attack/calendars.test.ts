import t from 'tap';
import { comparablePart } from '../../setup/comparable.js';
import { freePort } from '../../setup/free-port.js';
import { startProxy, type TestProxy } from '../../setup/proxy.js';
import { type Response, sendBytesTo } from '../../setup/send.js';
import { startService } from '../../setup/service.js';
import { until } from '../../setup/wait.js';
import { type CanaryClub, seedClub, shownOf } from './clubs.js';
import { eachOf } from './operations.js';
import { isRecord } from './secrets.js';
import { attack, isWhole, type Tally } from './tally.js';
import { type Link, pathOf, wrongLinks } from './wrong-links.js';

const GUESSES = isWhole ? 10_000 : 300;
const PER_MINUTE = 500;
/** A text as long as a secret. */
const WORD = /(?<![\w-])[\w-]{43}(?![\w-])/g;

let proxy: TestProxy;
const port = await freePort();
const lines: string[] = [];
const service = await startService(
  t,
  { rateLimitPerMinute: PER_MINUTE, metrics: { host: '127.0.0.1', port } },
  async (db) => {
    proxy = await startProxy(t, db.url);
    return { url: proxy.url, size: 4, prepare: true, readsPerConnection: 8 };
  },
  { write: (line: string) => void lines.push(line) },
);
const sendBytes = await sendBytesTo(service.app);

const [north, south] = [await seedClub(service, 'north'), await seedClub(service, 'south')];
const linkOf = ({ id, secret }: CanaryClub): Link => ({ club: id, secret });

async function get(target: string, headers = '', method = 'GET'): Promise<Response> {
  const bytes = `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`;
  const { responses } = await sendBytes(bytes, 1);
  return responses[0] as Response;
}

/** Replaces the link of a club: the attacks have read it more often than a link is read in a minute. */
async function renewLink(club: CanaryClub): Promise<void> {
  const { id, subject, inside, mail } = club;
  const owner = service.as(subject, 'Admin', id, { name: inside, email: `${mail}@example.org` });
  const { url } = (await owner.put('/api/members/me/calendar')).body;
  club.secret = /([^/]+)\.ics$/.exec(url)?.[1] as string;
}

/** The statements that read a calendar, with their parameters. */
const readings = () =>
  proxy.log.filter(({ type, statement }) => type === 'B' && statement?.includes('readCalendar'));

/** Finds secrets and paths of links in what the service logs, in its metrics and in what it sends to the database. */
async function search(tally: Tally, sent: string[]): Promise<void> {
  const words = new Set(sent.flatMap((target) => target.match(WORD) ?? []));
  const output = {
    log: lines.join(''),
    metrics: await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
    database: proxy.log.map(({ text }) => text).join('\n'),
  };
  for (const [where, text] of Object.entries(output)) {
    const shown = (text.match(WORD) ?? []).filter((word) => words.has(word));
    // Except the path of a route.
    const paths = text.match(/calendars\/(?!:clubId|\*)\S{1,80}/gi) ?? [];
    tally.leaks.push(...[...shown, ...paths].map((found) => `in the ${where}: ${found}`));
  }
  tally.leaks.push(...lines.filter((line) => !isRecord(line)));
}

t.test('every wrong link has the one 404, and only one with the form of a link is looked up', (t) =>
  attack(t, 'links to calendars', GUESSES + 800, async (tally) => {
    const all = [
      wrongLinks(linkOf(north), linkOf(south), GUESSES),
      wrongLinks(linkOf(south), linkOf(north), 0),
    ];
    const wellFormed = all.flatMap((links) => links.wellFormed);
    const targets = [...wellFormed, ...all.flatMap((links) => links.malformed)];
    // Headers by which a proxy or a framework may change the path, the method or the caller.
    const token = service.token({ sub: 'anna', clubs: { [south.id]: 'Admin' } });
    const wrong = pathOf({ club: north.id, secret: south.secret });
    const headers = ['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Path', 'X-HTTP-Method-Override', 'If-None-Match', 'Range', 'Cookie', 'Referer']
      .map((name) => `${name}: ${pathOf(linkOf(north))}\r\n`)
      .concat('If-None-Match: *\r\n', `Authorization: Bearer ${token}\r\nX-Tenant-Id: ${south.id}\r\n`); // biome-ignore format: a list
    const kinds = new Map<string, string>();
    const send = async (target: string, more = '') => {
      tally.tried += 1;
      const response = await get(target, more);
      const { status = 500, text = '' } = response ?? {};
      if (status >= 500 && status !== 503) {
        tally.serverErrors.push(`${target}: ${text}`);
      } else if (![429, 503].includes(status)) {
        const { headers, ...same } = comparablePart(response, '');
        kinds.set(JSON.stringify([same, Object.entries(headers).sort()]), `${target.slice(0, 200)} ${more}`);
      }
    };
    const before = readings().length;
    await eachOf(targets, (target) => send(target));
    await eachOf(headers, (more) => send(wrong, more));
    tally.succeeded.push(...(kinds.size > 1 ? [...kinds].flat() : []));
    t.match([...kinds.keys()], [/404,.*instance\W+\/calendars\W+code\W+calendar_not_found\W+requestId\W+}/]);
    t.ok(readings().length - before <= wellFormed.length + headers.length, 'only well-formed links');
    await search(tally, targets);
  }),
);

t.test(
  'after all attacks a link shows the shifts of its own member, in any spelling of its path',
  async (t) => {
    await renewLink(north);
    const { club, secret } = linkOf(north);
    for (const target of [
      pathOf(linkOf(north)),
      `/%63alendars/${club.toUpperCase()}/${secret}%2Eics?a=%ff&a`,
    ]) {
      const { status, text } = await get(target);
      t.match([status, text], [200, north.inside]);
      t.same(shownOf(south, text, ''), []);
    }
  },
);

t.test('every response and every failure keeps a link out of logs, metrics, errors and statements', (t) =>
  attack(t, 'the secrets of links', 14, async (tally) => {
    const path = pathOf(linkOf(north));
    const seen = new Set<number | undefined>();
    const note = ({ status, headers, text }: Partial<Response> = {}) => {
      tally.tried += 1;
      seen.add(status);
      const found = [text, JSON.stringify(headers)].filter((part) =>
        /[\w-]{42}[\w-](?=\.ics)/.test(part ?? ''),
      );
      tally.leaks.push(...found.map((part) => `${status}: ${part}`));
    };
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      note(await get(path, '', method));
    }
    note(await get(path, `If-None-Match: ${(await get(path)).headers.etag}\r\n`));
    // Malformed messages.
    for (const message of [
      `FOO ${path} HTTP/1.1\r\nHost: a\r\n\r\n`,
      `GET ${path} HTTP/1.1\r\n\r\n`,
      `GET ${path} HTTP/2.0\r\nHost: a\r\n\r\n`,
      `GET ${path}#a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      `GET ${path}\0 HTTP/1.1\r\nHost: a\r\n\r\n`,
      `GET ${path}%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      `GET ${path}?${'a'.repeat(17_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    ]) {
      note((await sendBytes(message, 1)).responses[0]);
    }
    service.app.server.headersTimeout = 100;
    note((await sendBytes(`GET ${path} HTTP/1.1\r\nHost: a\r\n`, Number.POSITIVE_INFINITY)).responses[0]);
    // The connection to the database is lost, or the client is gone.
    proxy.onMessage = ({ statement }) => (statement?.includes('readCalendar') ? 'cut before' : 'pass');
    note(await get(path));
    await sendBytes(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`, 0);
    proxy.onMessage = () => 'pass';
    for (let count = 0; count <= PER_MINUTE; count += 1) {
      note(await get(path));
    }
    // An error that only a bug can cause.
    await service.db.queryAsAdmin('alter policy shifts_calendar on app.shifts using (1 / 0 = 1)');
    await renewLink(south);
    note(await get(pathOf(linkOf(south))));
    t.same([...seen].sort(), [200, 304, 400, 404, 405, 408, 429, 431, 500, 503]);
    await until(() => lines.some((line) => line.includes('"status":499')), Boolean);
    await search(tally, [path]);
  }),
);
