import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { startFuzzedService } from './fuzz/clubs.js';
import { injectionsOf } from './injections.js';
import { eachOf } from './operations.js';
import { MARK, payloads, SLEEP_MS } from './payloads.js';
import { attackSecrets, isRecord } from './secrets.js';
import { attack, isWhole, someOf } from './tally.js';

/** In the short run one of this many is sent, chosen at random. */
const SHARE = 12;
const lines: string[] = [];
const { service, lanes, counts } = await startFuzzedService(t, {
  write: (line: string) => void lines.push(line),
});
lines.length = 0;
counts.clear();

t.test('a text is data in every place: it is returned as sent, or refused', (t) =>
  attack(t, 'injection', isWhole ? 10_000 : 600, async (tally) => {
    const requests = someOf(
      payloads.flatMap((text) => injectionsOf(service.app, text)),
      SHARE,
    );
    const free = [...lanes];
    await eachOf(requests, async (request) => {
      const lane = free.pop() as (typeof lanes)[number];
      const send = async () => {
        const started = performance.now();
        const finding = await lane(request);
        return { finding, isLate: performance.now() - started > SLEEP_MS * 0.9 };
      };
      tally.tried += 1;
      const { finding, isLate } = await send();
      if (finding !== undefined) {
        tally[finding.count].push(`${finding.what}\n${JSON.stringify(request)}`);
      }
      // An injected sleep takes as long again; a slow machine seldom does.
      if (isLate && (await send()).isLate) {
        tally.succeeded.push(`late: ${JSON.stringify(request)}`);
      }
      free.push(lane);
    });
  }),
);

t.test('each request is one log line, and no line contains the payload or a secret', (t) =>
  attack(t, 'the log', 1, async (tally) => {
    await sleep(100);
    const sent = [...counts.values()].reduce((sum, count) => sum + count, 0);
    tally.tried += sent;
    tally.succeeded.push(...lines.filter((line) => !isRecord(line)));
    const requests = lines.filter((line) => JSON.parse(line).msg === 'request');
    if (requests.length !== sent) {
      tally.succeeded.push(`${requests.length} lines about ${sent} requests`);
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
