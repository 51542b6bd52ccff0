import { randomUUID } from 'node:crypto';
import { wrongResponses } from './benchmarks.js';
import type { Signer } from './callers.js';
import type { Contender } from './contenders.js';
import { clubId } from './data.js';
import type { Environment } from './environment.js';
import { runPgbench } from './pgbench.js';
import { plan } from './plan.js';
import { median, type Ratio, spreadOf } from './rounds.js';
import { enterScript } from './statements.js';
import { Wire } from './wire.js';

/** Each has a connection: as many as the service allows by default. */
const CALLERS = 1_000;
const PLACES = 100;
/** The club that has only members. */
const CLUB_NUMBER = plan.clubs + 1;
const CLUB = clubId(CLUB_NUMBER);

/** Returns whether it signed up: pgbench stops at an error, and nine in ten of these signups fail. */
const TRY_SIGN_UP = `
  create schema if not exists bench;
  create or replace function bench.try_sign_up(shift uuid) returns boolean language plpgsql as $$
  begin
    perform app.sign_up(shift);
    return true;
  exception when sqlstate 'SH004' then
    return false;
  end $$;
  grant usage on schema bench to club_api;
  grant execute on function bench.try_sign_up(uuid) to club_api`;

/**
 * A thousand members sign up for a hundred places at the same time; exactly a hundred get one. The result is the time of a
 * signup divided by the time of pgbench calling the same function, one transaction per call, rolled back when it is refused.
 */
export async function measureRush(
  environment: Environment,
  { port }: Contender,
  signer: Signer,
  pgbench: string | undefined,
): Promise<Ratio | undefined> {
  await environment.queryAsAdmin('many', TRY_SIGN_UP);
  const heads = Array.from({ length: CALLERS }, (_, index) => signer.head(`caller-${index + 1}`, CLUB));
  const rounds: { ours: number; theirs: number }[] = [];
  for (let round = 0; round < plan.rounds + 1; round += 1) {
    const ours = await rushService(environment, port, heads);
    if (pgbench !== undefined) {
      const shift = await makeShift(environment);
      const { perSecond } = await runPgbench(pgbench, environment, {
        script: scriptOf(shift),
        requests: 1,
        length: { runs: CALLERS / 5 },
      });
      await requireFull(environment, shift, 'pgbench');
      // The first round is the warm-up of both.
      if (round > 0) {
        rounds.push({ ours, theirs: 1_000 / perSecond });
      }
    }
  }
  const figures = (side: 'ours' | 'theirs') => ({
    perSecond: 1_000 / median(rounds.map((round) => round[side])),
    p50Ms: Number.NaN,
    p95Ms: Number.NaN,
    p99Ms: Number.NaN,
  });
  return rounds.length === 0
    ? undefined
    : {
        workload: 'signup-rush',
        against: 'pgbench-same-function',
        ...spreadOf(rounds.map(({ ours, theirs }) => ours / theirs)),
        figures: [figures('ours'), figures('theirs')],
      };
}

/** Milliseconds per signup, from the first request to the last response, including rejected signups. */
async function rushService(environment: Environment, port: number, heads: string[]): Promise<number> {
  const shift = await makeShift(environment);
  const wires = await Promise.all(heads.map(() => Wire.connect(port)));
  const started = performance.now();
  const responses = await Promise.all(
    wires.map((wire, index) =>
      wire.request(`POST /api/shifts/${shift}/signup HTTP/1.1\r\n${heads[index]}Content-Length: 0\r\n\r\n`),
    ),
  );
  const elapsed = performance.now() - started;
  for (const wire of wires) {
    wire.close();
  }
  const other = responses.find(({ status, body }) => status !== 201 && !body.includes('"shift_full"'));
  const signedUp = responses.filter(({ status }) => status === 201).length;
  if (other !== undefined || signedUp !== PLACES) {
    wrongResponses.push(
      `signup-rush: ${signedUp} signed up for ${PLACES} places; ${other?.status} ${other?.body}`,
    );
  }
  await requireFull(environment, shift, 'the service');
  return elapsed / CALLERS;
}

async function makeShift({ queryAsAdmin }: Environment): Promise<string> {
  const id = randomUUID();
  await queryAsAdmin(
    'many',
    `insert into app.shifts (tenant_id, id, title, starts_at, ends_at, capacity, created_by_id)
     values ($1, $2, 'Rush', now() + interval '1 day', now() + interval '1 day 2 hours', $3, null)`,
    [CLUB, id, PLACES],
  );
  return id;
}

async function requireFull({ queryAsAdmin }: Environment, shift: string, by: string): Promise<void> {
  const [row] = await queryAsAdmin<{ count: number }>(
    'many',
    'select count(*)::integer from app.shift_signups where tenant_id = $1 and shift_id = $2',
    [CLUB, shift],
  );
  if (row?.count !== PLACES) {
    wrongResponses.push(`signup-rush: by ${by}, the database has ${row?.count} signups for ${PLACES} places`);
  }
}

const scriptOf = (shift: string): string => `\\set n :n + 1
\\set club ${CLUB_NUMBER}
\\set caller :client_id * ${CALLERS / 5} + :n
begin isolation level read committed, read write;
${enterScript}
select bench.try_sign_up('${shift}') as signed_up \\gset
\\if :signed_up
commit;
\\else
rollback;
\\endif
`;
