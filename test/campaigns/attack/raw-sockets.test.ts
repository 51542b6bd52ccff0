import { readFile, rm } from 'node:fs/promises';
import { setImmediate as breathe } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { type Response, responseOf, sendBytesTo } from '../../setup/send.js';
import { startService } from '../../setup/service.js';
import { type Bytes, keepMessage, keptMessage, messages } from './fuzz/bytes.js';
import { fuzz } from './fuzz/fuzz.js';
import type { Complaint } from './fuzz/judge.js';
import { isRecord } from './secrets.js';
import { attack, isWhole } from './tally.js';

const MESSAGES = isWhole ? 20_000 : 3_000;
const IN_FLIGHT = 16;

/** Random for each run; SEED=… repeats the run that printed it. */
const seed = Number(process.env.SEED || Math.floor(Math.random() * 1e9));
/** A saved message to send instead: CHECK=.data/fuzz/raw-….json. */
const kept = /\/raw-\d+\.json$/.test(process.env.CHECK ?? '') ? process.env.CHECK : undefined;
const lines = { count: 0, broken: [] as string[], leaking: [] as string[] };
const service = await startService(t, {}, undefined, {
  write: (line: string) => {
    lines.count += 1;
    lines.broken.push(...(isRecord(line) ? [] : [`no line of the log: ${line}`]));
    lines.leaking.push(...(/Bearer|eyJ|Smuggled/.test(line) ? [`in the log: ${line}`] : []));
  },
});
const sendBytes = await sendBytesTo(service.app);
const [north, south] = [await service.db.makeClub('north'), await service.db.makeClub('south')];
const headers = async (sub: string, club: string) =>
  `Host: a\r\nAuthorization: Bearer ${service.token({ sub, clubs: { [club]: 'Admin' } })}\r\nX-Tenant-Id: ${club}`;
const senders = { own: await headers('own', north), other: await headers('other', south) };
const good = `GET /api/members/me HTTP/1.1\r\n${senders.own}\r\nConnection: close\r\n\r\n`;

async function* pieces({ bytes, cuts }: Bytes): AsyncGenerator<Buffer> {
  for (const [index, end] of [...cuts, bytes.length].entries()) {
    yield bytes.subarray(cuts[index - 1] ?? 0, end);
    await breathe();
  }
}

/** What is wrong with the answers to a malformed message; undefined when nothing is. */
function wrong({ is, who }: Bytes, responses: Response[]): string | undefined {
  const before = is === 'strange' ? who.length : who.length + 1;
  if (responses.length > before) {
    return `${responses.length} answers`;
  }
  const stranger = responses.find(
    ({ body }, index) => ![undefined, who[index]].includes(body?.externalUserId),
  );
  if (stranger !== undefined) {
    return `a request is answered as ${stranger.text}`;
  }
  const refusals = responses
    .slice(is === 'strange' ? 0 : who.length)
    .filter(({ status }) => is !== 'strange' || status >= 400);
  const isRefusal = ({ status, headers }: Response) =>
    status >= 400 && status < 500 && headers['content-type'] === 'application/problem+json';
  return refusals.every(isRefusal) ? undefined : `answered with ${refusals.map(({ status }) => status)}`;
}

/** Sends a message and checks the answers. */
async function attempt(message: Bytes): Promise<Complaint | undefined> {
  try {
    const { responses, text } = await sendBytes(
      message.cuts.length > 0 ? pieces(message) : message.bytes,
      message.is === 'cut' ? 0 : Number.POSITIVE_INFINITY,
    );
    if (responses.some(({ status }) => status >= 500)) {
      return { count: 'serverErrors', what: text.slice(0, 300) };
    }
    const what = wrong(message, responses);
    return what === undefined
      ? undefined
      : { count: 'succeeded', what: `${what}: ${text.slice(0, 300)} to ${message.is}` };
  } catch (error) {
    return { count: 'serverErrors', what: `${(error as Error).message} after ${message.is}` };
  }
}

/** A line of the report. */
const shown = ({ bytes }: Bytes) =>
  JSON.stringify(bytes.toString('latin1'))
    .replaceAll(/Bearer [\w.-]{50,}/g, 'Bearer …')
    .slice(0, 1_500);

t.test(
  'a malformed message is refused or cut off, and the next request is not read as part of it',
  async (t) => {
    if (kept !== undefined) {
      const message = keptMessage(senders, await readFile(kept, 'utf8'));
      t.same(await attempt(message), undefined, kept);
      return;
    }
    await attack(t, 'raw sockets', MESSAGES, async (tally) => {
      t.comment(`raw sockets seed: ${seed}`);
      const judged = (message: Bytes) => {
        tally.tried += 1;
        return attempt(message);
      };
      const counterexamples = await fuzz(messages(senders), judged, MESSAGES, seed, { inFlight: IN_FLIGHT });
      for (const { count, what, item, ...where } of counterexamples) {
        const file = keepMessage(senders, item, { what, ...where });
        tally[count].push(`${what}, ${shown(item)}, kept in ${file}`);
      }
      for (const { title } of await service.db.queryAsAdmin<{ title: string }>(
        'select title from app.tasks',
      )) {
        tally.succeeded.push(`made: ${title}`);
      }
      tally.succeeded.push(...lines.broken);
      tally.leaks.push(...lines.leaking);
      t.ok(lines.count >= MESSAGES / 2, `${lines.count} lines of the log, each one JSON object`);
    });
    const { responses } = await sendBytes(good, 1);
    t.match(responses[0]?.body, { externalUserId: 'own' }, 'a valid request is answered as before');
  },
);

t.test('a reported message is minimal, and can be sent again', async (t) => {
  const isPlanted = ({ bytes }: Bytes) => bytes.includes('xchunked');
  const judged = async (message: Bytes): Promise<Complaint | undefined> =>
    isPlanted(message) ? { count: 'succeeded', what: 'planted' } : undefined;
  const [counterexample] = await fuzz(messages(senders), judged, 4_000, 5, { most: 1 });
  const message = counterexample?.item as Bytes;
  t.ok(isPlanted(message));
  t.same([message.cuts, message.who], [[], []], 'in one chunk, with nothing before it');
  const file = keepMessage(senders, message, { seed: 5 });
  const text = await readFile(file, 'utf8');
  t.notMatch(text, /Bearer/);
  t.same(keptMessage(senders, text), message);
  await rm(file);
});

t.test('a message that gets through is found', async (t) => {
  const drawn = fc.sample(messages(senders), { numRuns: 600, seed: 3 });
  const reply = (status: number, who?: string) =>
    responseOf(
      status,
      { 'content-type': status < 400 ? 'application/json' : 'application/problem+json' },
      JSON.stringify({ externalUserId: who }),
    );
  const unnoticed = drawn.flatMap((message) => {
    const own = message.who.map((who) => reply(200, who));
    const faults = {
      'one answer more': [...own, reply(400), reply(400)],
      'another identity': message.who.map(() => reply(200, 'other')).slice(0, 1),
      'a request behind it': message.is === 'strange' ? [reply(500)] : [...own, reply(201)],
    };
    const planted = Object.entries(faults).filter(([, responses]) => responses.length > 0);
    return planted.flatMap(([name, responses]) =>
      wrong(message, responses) === undefined ? [`${name}: ${message.is}`] : [],
    );
  });
  t.same([...new Set(unnoticed)], []);
  t.same([...new Set(drawn.map(({ is }) => is))].sort(), ['cut', 'refused', 'strange']);
});
