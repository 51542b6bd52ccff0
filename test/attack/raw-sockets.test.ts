import { setImmediate as breathe } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { openWires, type Raw, type Reply } from '../setup/raw.js';
import { startService } from '../setup/service.js';
import { attack, isWhole, type Tally } from './tally.js';
import { type Bytes, messages } from './wild/bytes.js';

const MESSAGES = isWhole ? 20_000 : 3_000;
const IN_FLIGHT = 16;
t.setTimeout(600_000);

/** Another one every time; SEED=… draws again what a run drew that said it. */
const seed = Number(process.env.SEED || Math.floor(Math.random() * 1e9));
const service = await startService(t);
const raw = await openWires(service.app);
const [north, south] = [await service.db.makeClub('north'), await service.db.makeClub('south')];
const headers = async (sub: string, club: string) =>
  `Host: a\r\nAuthorization: Bearer ${await service.token({ sub, clubs: { [club]: 'Admin' } })}\r\nX-Tenant-Id: ${club}`;
const senders = { own: await headers('own', north), other: await headers('other', south) };
const good = `GET /api/members/me HTTP/1.1\r\n${senders.own}\r\nConnection: close\r\n\r\n`;

async function* pieces({ bytes, cuts }: Bytes): AsyncGenerator<Buffer> {
  for (const [index, end] of [...cuts, bytes.length].entries()) {
    yield bytes.subarray(cuts[index - 1] ?? 0, end);
    await breathe();
  }
}

const jsonOf = ({ body }: Reply): { externalUserId?: string; code?: string } => {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
};

/** What is wrong with the answers to a broken message; undefined when nothing is. */
function wrong({ is, who }: Bytes, replies: Reply[]): string | undefined {
  const before = is === 'strange' ? who.length : who.length + 1;
  if (replies.length > before) {
    return `${replies.length} answers`;
  }
  const stranger = replies.find(
    (reply, index) => ![undefined, who[index]].includes(jsonOf(reply).externalUserId as never),
  );
  if (stranger !== undefined) {
    return `somebody is answered as ${stranger.body}`;
  }
  const refusals = replies
    .slice(is === 'strange' ? 0 : who.length)
    .filter(({ status }) => is !== 'strange' || status >= 400);
  const isRefusal = ({ status, headers }: Reply) =>
    status >= 400 && status < 500 && headers['content-type'] === 'application/problem+json';
  return refusals.every(isRefusal) ? undefined : `answered with ${refusals.map(({ status }) => status)}`;
}

/** Sends a message and judges what comes back. */
async function attempt(raw: Raw, message: Bytes, tally: Tally): Promise<void> {
  tally.tried += 1;
  const shown = JSON.stringify(message.bytes.toString('latin1'))
    .replaceAll(/Bearer [\w.-]{50,}/g, 'Bearer …')
    .slice(0, 1_500);
  try {
    const { replies, text } = await raw(
      message.cuts.length > 0 ? pieces(message) : message.bytes,
      message.is === 'cut' ? 0 : Number.POSITIVE_INFINITY,
    );
    if (replies.some(({ status }) => status >= 500)) {
      tally.serverErrors.push(`${text.slice(0, 300)} to ${shown}`);
    }
    const what = wrong(message, replies);
    if (what !== undefined) {
      tally.through.push(`${what}: ${text.slice(0, 300)} to ${message.is} ${shown}`);
    }
  } catch (error) {
    tally.serverErrors.push(`${(error as Error).message} after ${message.is} ${shown}`);
  }
}

t.test('a broken message is refused or cut off, and nobody behind it is read as part of it', async (t) => {
  await attack(t, 'raw sockets', MESSAGES, async (tally) => {
    t.comment(`raw sockets seed: ${seed}`);
    const drawn = fc.sample(messages(senders), { numRuns: MESSAGES, seed });
    const lanes = Array.from({ length: IN_FLIGHT }, async () => {
      for (let message = drawn.pop(); message !== undefined; message = drawn.pop()) {
        await attempt(raw, message, tally);
      }
    });
    await Promise.all(lanes);
    for (const { title } of await service.db.look<{ title: string }>('select title from app.tasks')) {
      tally.through.push(`made: ${title}`);
    }
  });
  const { replies } = await raw(good, 1);
  t.match(jsonOf(replies[0] as Reply), { externalUserId: 'own' }, 'a good request is answered as before');
});

t.test('what gets through is noticed', async (t) => {
  const drawn = fc.sample(messages(senders), { numRuns: 600, seed: 3 });
  const reply = (status: number, who?: string): Reply => ({
    status,
    headers: { 'content-type': status < 400 ? 'application/json' : 'application/problem+json' },
    body: JSON.stringify({ externalUserId: who }),
  });
  const unnoticed = drawn.flatMap((message) => {
    const own = message.who.map((who) => reply(200, who));
    const faults = {
      'one answer more': [...own, reply(400), reply(400)],
      'another identity': message.who.map(() => reply(200, 'other')).slice(0, 1),
      'a request behind it': message.is === 'strange' ? [reply(500)] : [...own, reply(201)],
    };
    const planted = Object.entries(faults).filter(([, replies]) => replies.length > 0);
    return planted.flatMap(([name, replies]) =>
      wrong(message, replies) === undefined ? [`${name}: ${message.is}`] : [],
    );
  });
  t.same([...new Set(unnoticed)], []);
  t.same([...new Set(drawn.map(({ is }) => is))].sort(), ['cut', 'refused', 'strange']);
});
