import t from 'tap';
import { comparablePart } from '../../setup/comparable.js';
import type { Response } from '../../setup/send.js';
import { startService } from '../../setup/service.js';
import { Random } from '../model/random.js';
import { type Attempt, attemptsAt, clubsOf, mayShow, type Variant } from './attempts.js';
import { rowsOf, seedClub, shownOf, silentColumns } from './clubs.js';
import { attackCursors } from './cursors.js';
import { headersOf, makeIdentities, tenantsOf } from './identities.js';
import { eachOf, operationsOf } from './operations.js';
import { attackSpellings } from './spellings.js';
import { attack, isWhole, type Tally } from './tally.js';

const service = await startService(t);
const north = await seedClub(service, 'north');
const south = await seedClub(service, 'south');
const operations = operationsOf(service.app);
const identities = await makeIdentities(service, north, south);
const before = { north: await rowsOf(service.db, north.id), south: await rowsOf(service.db, south.id) };

const codeOf = ({ status, body }: Response) => (status < 400 ? status : (body?.code ?? status));

/** Makes an attempt, and records a wrong answer. */
async function make(attempt: Attempt, tally: Tally): Promise<void> {
  const { name, operation, identity, tenant, method, variants, expected } = attempt;
  const title = `${identity.name} in ${tenant.name}, ${method} ${operation.path}, ${name}`;
  const answers: { variant: Variant; answer: Response }[] = [];
  for (const variant of variants) {
    const headers = { ...headersOf(identity, tenant), ...variant.headers };
    const { path, body } = variant;
    tally.tried += 1;
    const answer = await service.send(method, path, { headers, body }).catch((error) => String(error));
    if (typeof answer === 'string') {
      tally.succeeded.push(`${title}: ${answer}`);
      continue;
    }
    answers.push({ variant, answer });
    if (answer.status >= 500) {
      tally.serverErrors.push(`${title}: ${answer.text}`);
    } else if (!expected.includes(codeOf(answer)) || answer.headers['idempotent-replayed'] !== undefined) {
      tally.succeeded.push(`${title}, ${path}: ${codeOf(answer)}, and not ${expected.join(' or ')}`);
    }
    const sent = JSON.stringify([path, body, variant.headers]);
    const said = answer.text + JSON.stringify(answer.headers);
    for (const club of [north, south]) {
      const shown = shownOf(club, said, sent).filter((word) => !mayShow(attempt, club, word));
      tally.leaks.push(...shown.map((word) => `${title}, ${path}: ${word}`));
    }
  }
  // A non-empty list is the own club's, and grows during the test.
  if (answers.some(({ answer }) => answer.status >= 400 || answer.text === '[]')) {
    const instanceOf = ({ path }: Variant) => path.split('?', 1)[0] as string;
    const kinds = new Set(
      answers.map(({ variant, answer }) => JSON.stringify(comparablePart(answer, instanceOf(variant)))),
    );
    if (kinds.size > 1) {
      tally.succeeded.push(`${title}: ids are distinguishable: ${[...kinds].join(' and ')}`);
    }
  }
}

t.test('every text of a club is a canary', async (t) => {
  t.same(await silentColumns(service.db, north), []);
  t.same(await silentColumns(service.db, south), []);
});

t.test('every caller gets at every endpoint what the contract says, and nothing of another club', (t) =>
  attack(t, 'endpoints', isWhole ? 5_000 : 400, async (tally) => {
    const all = operations.flatMap((operation) =>
      identities.flatMap((identity) =>
        tenantsOf(north, south).flatMap((tenant) =>
          attemptsAt(operation, identity, tenant, clubsOf(tenant, north, south)),
        ),
      ),
    );
    const random = new Random(Date.now());
    await eachOf(isWhole ? all : all.filter(() => random.isTrue(0.06)), (attempt) => make(attempt, tally));
  }),
);

t.test('only a single X-Tenant-Id with a plain UUID selects a club', (t) =>
  attack(t, 'the tenant header', isWhole ? 1_000 : 100, (tally) =>
    attackSpellings(service, operations, { north, south }, tally),
  ),
);

t.test('an altered, transferred or forged cursor is refused or shows the own club’s rows', (t) =>
  attack(t, 'cursors', isWhole ? 1_500 : 200, (tally) =>
    attackCursors(service, operations, { north, south }, tally),
  ),
);

t.test('after all attacks the other club is unchanged, byte for byte', async (t) => {
  t.same(await rowsOf(service.db, south.id), before.south);
  const after = new Set(await rowsOf(service.db, north.id));
  const changed = before.north.filter((row) => !after.has(row));
  t.same(changed, [], 'and no earlier row of the own club is changed');
});
