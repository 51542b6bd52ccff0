import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { until } from '../../setup/wait.js';
import { startFuzzedService } from './fuzz/clubs.js';
import { injectionsOf } from './injections.js';
import { eachOf } from './operations.js';
import { MARK, payloads } from './payloads.js';
import { attackSecrets, isRecord } from './secrets.js';
import { attack, isWhole, someOf } from './tally.js';

/** In the short run one of this many is sent, chosen by the seed. */
const SHARE = 12;
const lines: string[] = [];
const { service, lanes, counts } = await startFuzzedService(t, {
  write: (line: string) => void lines.push(line),
});
lines.length = 0;
counts.clear();

/** Watches the database for statements that sleep, as only an injected one does. */
async function statementsThatSleep(isOver: () => boolean): Promise<Set<string>> {
  const found = new Set<string>();
  while (!isOver()) {
    const sleeping = await service.db.queryAsAdmin<{ query: string }>(
      `select query from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
    );
    for (const { query } of sleeping) {
      found.add(query);
    }
    await sleep(100);
  }
  return found;
}

t.test('a text is data in every place: it is returned as sent, or refused', (t) =>
  attack(t, 'injection', isWhole ? 10_000 : 600, async (tally) => {
    const requests = someOf(
      payloads.flatMap((text) => injectionsOf(service.app, text)),
      SHARE,
    );
    const free = [...lanes];
    let isOver = false;
    const watching = statementsThatSleep(() => isOver);
    await eachOf(requests, async (request) => {
      const lane = free.pop() as (typeof lanes)[number];
      tally.tried += 1;
      const finding = await lane(request);
      if (finding !== undefined) {
        tally[finding.count].push(`${finding.what}\n${JSON.stringify(request)}`);
      }
      free.push(lane);
    });
    isOver = true;
    tally.succeeded.push(...(await watching));
  }),
);

t.test('each request is one log line, and no line contains the payload or a secret', (t) =>
  attack(t, 'the log', 1, async (tally) => {
    const sent = [...counts.values()].reduce((sum, count) => sum + count, 0);
    tally.tried += sent;
    const countRequests = () => lines.filter((line) => line.includes('"msg":"request"')).length;
    const requests = await until(countRequests, (count) => count >= sent);
    tally.succeeded.push(...lines.filter((line) => !isRecord(line)));
    if (requests !== sent) {
      tally.succeeded.push(`${requests} lines about ${sent} requests`);
    }
    const { db, issuer } = service;
    const passwords = [db.url, db.migrationUrl, db.adminUrl].map((url) => new URL(url).password);
    const words = [
      MARK,
      'Bearer',
      'eyJ',
      String(issuer.keys.ES256.privateKey.export({ format: 'jwk' }).d),
      db.url,
      ...passwords,
      'canary',
      'of-lane',
    ];
    for (const line of lines) {
      const found = words.filter((word) => word !== '' && line.includes(word));
      tally.leaks.push(...found.map((word) => `${word}: ${line}`));
    }
  }),
);

t.test('no failure puts a secret into the log or a response', async (t) => {
  const club = await service.db.makeClub();
  await attack(t, 'secrets', 30, (tally) => attackSecrets(service, club, tally));
});
