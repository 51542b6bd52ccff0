import fc, { type Arbitrary } from 'fast-check';
import { holdToDocument } from '../../../setup/contract.js';
import { changed } from './changes.js';
import { describe } from './document.js';
import { draft, written } from './draft.js';
import { fuzz, keep } from './fuzz.js';
import { type Complaint, judge } from './judge.js';
import { noise } from './noise.js';
import { oracle } from './oracle.js';
import type { FuzzRequest } from './request.js';
import type { Send, Site } from './site.js';

/** A minimal request with a wrong answer. */
export interface Failure extends Complaint {
  seed: number;
  path: string;
  request: FuzzRequest;
  /** The file in which it is saved; undefined when it is not saved. */
  file?: string;
}

export interface Campaign {
  tried: number;
  failures: Failure[];
  /** The numbers of requests of each kind, and of answers of each status class. */
  counts: Record<string, number>;
}

const TIDY_EVERY = 200;

/** Checks the answer to one request. */
export type Judge = (request: FuzzRequest, send: Send) => Promise<Complaint | undefined>;

/** The parsed document of a site, created once because parsing is slow. */
export interface Plan {
  site: Site;
  arbitrary: Arbitrary<FuzzRequest>;
  judged: Judge;
}

/** Parses the document of a site. */
export function plan(site: Site): Plan {
  const described = describe(site.service.app);
  const verdictOf = oracle(described);
  const hold = holdToDocument(site.service.app);
  const arbitrary = fc.oneof(
    ...described.operations.flatMap((operation) => [
      {
        weight: 4,
        arbitrary: draft(described, operation).map((drawn) => written('valid', 'nothing', drawn)),
      },
      { weight: 6, arbitrary: changed(described, operation) },
    ]),
    { weight: described.operations.length * 3, arbitrary: noise(described) },
  );
  return {
    site,
    arbitrary,
    judged: async (request, send) => judge(request, verdictOf(request), await send(request), hold),
  };
}

/** Sends this many requests, some concurrently, and shrinks those with a wrong answer. */
export async function campaign(
  { site, arbitrary, judged }: Plan,
  runs: number,
  seed: number,
  {
    send = site.send,
    keeps = false,
    ...options
  }: { send?: Send; keeps?: boolean; shrinks?: boolean; most?: number } = {},
): Promise<Campaign> {
  const result: Campaign = { tried: 0, failures: [], counts: {} };
  const count = (name: string) => {
    result.counts[name] = (result.counts[name] ?? 0) + 1;
  };
  const counting: Send = async (request) => {
    result.tried += 1;
    if (result.tried % TIDY_EVERY === 0) {
      await site.tidy();
    }
    const answer = await send(request);
    count(request.kind);
    count(`${Math.floor(answer.status / 100)}xx`);
    return answer;
  };

  const counterexamples = await fuzz(arbitrary, (request) => judged(request, counting), runs, seed, options);
  for (const { item: request, ...found } of counterexamples) {
    const failure: Failure = { ...found, request };
    result.failures.push(keeps ? { ...failure, file: keep(String(failure.seed), failure) } : failure);
  }
  return result;
}
