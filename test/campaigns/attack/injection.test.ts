import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { fit, makers } from '../../setup/endpoints.js';
import { startService } from '../../setup/service.js';
import { rowsOf, seedClub } from './clubs.js';
import { type Injection, injectionsAt } from './injections.js';
import { eachOf, operationsOf } from './operations.js';
import { MARK, SLEEP_MS } from './payloads.js';
import { attackSecrets, isRecord } from './secrets.js';
import { attack, isWhole, someOf, type Tally } from './tally.js';

/** In the short run one of this many is tried, chosen at random. */
const SHARE = 12;
const lines: string[] = [];
const service = await startService(t, {}, undefined, { write: (line: string) => void lines.push(line) });
const north = await seedClub(service, 'north');
const south = await seedClub(service, 'south');
const before = await rowsOf(service.db, south.id);
const anna = service.as('anna', 'Admin', north.id);
const token = service.token({ sub: 'anna', name: 'anna', clubs: { [north.id]: 'Admin' } });
/** Rows for one operation only, so that none waits for another's lock. */
const makeRows = async (): Promise<Record<string, string>> => {
  const rows: Record<string, string> = { '/api/members': await anna.memberId() };
  for (const { path, body } of makers) {
    rows[path] = (await anna.post(path, fit(body, rows))).body.id;
  }
  return rows;
};
const asked = await Promise.all(
  operationsOf(service.app).map(async (operation) => ({ operation, rows: await makeRows() })),
);
lines.length = 0;

/** Secrets that must not be in the log or in an answer. */
const secrets = [
  new URL(service.db.url).password,
  new URL(service.db.migrationUrl).password,
  new URL(service.db.adminUrl).password,
  service.db.url,
  token,
  ...token.split('.'),
  String(service.issuer.keys.ES256.privateKey.export({ format: 'jwk' }).d),
].filter((secret) => secret !== '');
let sent = 0;

async function ask({ method, path, body, headers }: Pick<Injection, 'method' | 'path' | 'body' | 'headers'>) {
  sent += 1;
  const own = { authorization: `Bearer ${token}`, 'x-tenant-id': north.id };
  const send = () => service.send(method, path, { headers: { ...own, ...headers }, body });
  const answer = await send();
  if (answer.status !== 503) {
    return answer;
  }
  // On a busy machine an answer can be late. The request is repeated, as Retry-After says; a payload that is
  // the cause fails again.
  sent += 1;
  return send();
}

/** Sends a payload at its place, and records a wrong result. */
async function inject(injection: Injection, tally: Tally): Promise<void> {
  const { place, method, path, body, headers, expected, stored, sought } = injection;
  const title = `${method} ${path}, ${place}, ${JSON.stringify(headers ?? body)}`;
  tally.tried += 1;
  const began = Date.now();
  const answer = await ask(injection).catch((error) => String(error));
  if (typeof answer === 'string') {
    tally.succeeded.push(`${title}: ${answer}`);
    return;
  }
  const fault = (what: string) => tally.succeeded.push(`${title}: ${what}`);
  const code = answer.status < 400 ? answer.status : answer.body.code;
  if (answer.status >= 500) {
    tally.serverErrors.push(`${title}: ${answer.text}`);
  } else if (!expected.includes(code)) {
    fault(`${code}, and not ${expected.join(' or ')}`);
  }
  const tookLong = (since: number) => Date.now() - since > SLEEP_MS * 0.9;
  if (tookLong(began)) {
    // A payload that is the cause takes as long again; a busy machine seldom does.
    const again = Date.now();
    await ask(injection).catch(() => {});
    if (tookLong(again)) {
      fault(`it took ${Date.now() - again} ms`);
    }
  }
  const said = answer.text + JSON.stringify(answer.headers);
  tally.leaks.push(
    ...secrets.filter((secret) => said.includes(secret)).map((secret) => `${title}: ${secret}`),
  );
  const names = Object.entries(answer.headers).filter(
    ([name, value]) =>
      /evil|cookie/.test(name) || /[\r\n]/.test(String(value)) || String(value).includes(MARK),
  );
  // Only a Link repeats the request, percent-encoded.
  const links = names.filter(([name]) => name !== 'link');
  if (links.length > 0 || !/^[\da-f-]{36}$/.test(String(answer.headers['x-request-id']))) {
    fault(`headers of the answer: ${JSON.stringify(answer.headers)}`);
  }
  if (answer.status < 300 && stored !== undefined) {
    const read = await ask({ method: 'GET', path: String(answer.headers.location ?? path) });
    for (const value of [answer.body[stored.name], read.body[stored.name]]) {
      if (value !== stored.text) {
        fault(`came back as ${JSON.stringify(value)}`);
      }
    }
  }
  if (answer.status < 300 && sought !== undefined) {
    const strange = answer.body.filter(
      (row: object) =>
        !Object.values(row).some((text) => String(text).toLowerCase().includes(sought.toLowerCase())),
    );
    if (strange.length > 0) {
      fault(`found ${JSON.stringify(strange)}`);
    }
  }
}

t.test('a text is data in every place: it is returned as sent, or refused', (t) =>
  attack(t, 'injection', isWhole ? 10_000 : 600, async (tally) => {
    await eachOf(asked, async ({ operation, rows }) => {
      const all = injectionsAt(operation, rows);
      for (const injection of someOf(all, SHARE)) {
        await inject(injection, tally);
      }
    });
  }),
);

t.test('each request is one log line, and no line contains the payload or a secret', (t) =>
  attack(t, 'the log', 1, async (tally) => {
    await wait(100);
    tally.tried += sent;
    tally.succeeded.push(...lines.filter((line) => !isRecord(line)));
    const requests = lines.filter((line) => JSON.parse(line).msg === 'request');
    if (requests.length !== sent) {
      tally.succeeded.push(`${requests.length} lines about ${sent} requests`);
    }
    const words = [MARK, ...secrets, north.inside, south.inside, 'Bearer'];
    for (const line of lines) {
      tally.leaks.push(...words.filter((word) => line.includes(word)).map((word) => `${word}: ${line}`));
    }
  }),
);

t.test('no failure puts a secret into the log or an answer', (t) =>
  attack(t, 'secrets', 30, (tally) => attackSecrets(service, north.id, tally)),
);

t.test('after all injections the tables exist, and the other club is unchanged, byte for byte', async (t) => {
  t.same(await rowsOf(service.db, south.id), before);
  t.equal((await anna.get('/api/tasks?limit=1')).status, 200);
});
