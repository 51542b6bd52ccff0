import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { type Response, sendBytesTo } from '../../setup/send.js';
import { startService } from '../../setup/service.js';
import { bytesOf, type Caller, type Message, messages } from './fuzz/messages.js';
import { CHECK, type Finding, lanesOf, search } from './fuzz/search.js';
import { isRecord } from './secrets.js';
import { attack, isWhole } from './tally.js';

const MESSAGES = isWhole ? 20_000 : 3_000;
const LANES = lanesOf(16);

const lines = { count: 0, broken: [] as string[], leaking: [] as string[] };
const service = await startService(t, {}, undefined, {
  write: (line: string) => {
    lines.count += 1;
    lines.broken.push(...(isRecord(line) ? [] : [`not one JSON object: ${line}`]));
    lines.leaking.push(...(/Bearer|eyJ|Smuggled/.test(line) ? [`in the log: ${line}`] : []));
  },
});
const sendBytes = await sendBytesTo(service.app);

async function callerIn(name: Caller): Promise<{ token: string; club: string }> {
  const club = await service.db.makeClub(name);
  return { club, token: service.token({ sub: name, clubs: { [club]: 'Admin' } }) };
}
const callers = { own: await callerIn('own'), other: await callerIn('other') };

async function* chunksOf(bytes: Buffer, cuts: number[]): AsyncGenerator<Buffer> {
  for (const [index, end] of [...cuts, bytes.length].entries()) {
    yield bytes.subarray(cuts[index - 1] ?? 0, end);
    await turn();
  }
}

const callerOf = ({ body }: Response): Caller | undefined => body?.externalUserId;

/** Sends a message. A valid request is answered for its own caller; the first one that is not valid is the last one answered. */
async function send(message: Message): Promise<Finding | undefined> {
  const { kind, callers: valid, cuts } = message;
  const bytes = bytesOf(message, callers);
  // One response more than allowed is wrong already, and the service may not close the connection.
  const closesAfter = { cut: 0, refused: valid.length + 2, unusual: Number.POSITIVE_INFINITY }[kind];
  try {
    const { responses, text } = await sendBytes(cuts.length > 0 ? chunksOf(bytes, cuts) : bytes, closesAfter);
    const errors =
      kind === 'unusual' ? responses.filter(({ status }) => status >= 400) : responses.slice(valid.length);
    const isWrong =
      responses.length > valid.length + (kind === 'unusual' ? 0 : 1) ||
      responses.some((response, index) => ![undefined, valid[index]].includes(callerOf(response))) ||
      errors.some(
        ({ status, headers }) => status < 400 || headers['content-type'] !== 'application/problem+json',
      );
    if (responses.some(({ status }) => status >= 500)) {
      return { count: 'serverErrors', what: text.slice(0, 300) };
    }
    return isWrong ? { count: 'succeeded', what: `${kind}: ${text.slice(0, 300)}` } : undefined;
  } catch (error) {
    return { count: 'serverErrors', what: `${kind}: ${(error as Error).message}` };
  }
}

t.test(
  'a malformed message is refused or cut off, and the next request is not read as part of it',
  async (t) => {
    await attack(t, 'raw sockets', CHECK ? 1 : MESSAGES, async (tally) => {
      const lanes = Array.from({ length: LANES }, () => (message: Message) => {
        tally.tried += 1;
        return send(message);
      });
      for (const { count, what } of await search('messages', messages, lanes, MESSAGES)) {
        tally[count].push(what);
      }
      for (const { title } of await service.db.queryAsAdmin<{ title: string }>(
        'select title from app.tasks',
      )) {
        tally.succeeded.push(`created: ${title}`);
      }
      tally.succeeded.push(...lines.broken);
      tally.leaks.push(...lines.leaking);
      t.ok(lines.count >= tally.tried / 2, `${lines.count} lines of the log`);
    });
    t.equal((await service.as('own', 'Admin', callers.own.club).get('/api/members/me')).status, 200);
  },
);
