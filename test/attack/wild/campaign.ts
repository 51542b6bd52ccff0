import { mkdirSync, writeFileSync } from 'node:fs';
import fc, { type Arbitrary } from 'fast-check';
import { holdToDocument } from '../../setup/contract.js';
import { changed } from './changes.js';
import { describe } from './document.js';
import { draft, written } from './draft.js';
import { type Complaint, judge } from './judge.js';
import { noise } from './noise.js';
import { oracle } from './oracle.js';
import type { WildRequest } from './request.js';
import type { Send, Site } from './site.js';

/** A request, shrunk, whose answer must not be. */
export interface Failure extends Complaint {
  seed: number;
  path: string;
  request: WildRequest;
  /** The file it is kept in; undefined when it is not to be kept. */
  file?: string;
}

export interface Campaign {
  tried: number;
  failures: Failure[];
  /** How many requests were of each kind, and were answered with each class of status. */
  counts: Record<string, number>;
}

const IN_FLIGHT = 8;
const TIDY_EVERY = 200;
/** More than these say nothing new. */
const MOST_FAILURES = 5;
const FOLDER = '.data/wild';

class Refuted extends Error {
  constructor(readonly complaint: Complaint) {
    super(complaint.what);
  }
}

/** Judges the answer to one request. */
export type Judge = (request: WildRequest, send: Send) => Promise<Complaint | undefined>;

/** What a campaign needs of a site; made once, because the document takes its time to be understood. */
export interface Plan {
  site: Site;
  arbitrary: Arbitrary<WildRequest>;
  judged: Judge;
}

/** Reads the document of a site. */
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

/**
 * Sends so many requests, some at once, and shrinks those whose answers must not be. Each of those at once draws
 * with a seed of its own, so that one failure says by its seed and path how to draw it again.
 */
export async function campaign(
  { site, arbitrary, judged }: Plan,
  runs: number,
  seed: number,
  { send = site.send, keeps = false, shrinks = true, most = MOST_FAILURES } = {},
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

  let failing = 0;
  const draw = async (lane: number): Promise<void> => {
    let isFailing = false;
    const property = fc.asyncProperty(arbitrary, async (request) => {
      // Enough was found: what is under way is only shrunk.
      if (!isFailing && failing >= most) {
        return;
      }
      const complaint = await judged(request, counting);
      if (complaint !== undefined) {
        failing += isFailing ? 0 : 1;
        isFailing = true;
        throw new Refuted(complaint);
      }
    });
    let left = Math.ceil(runs / IN_FLIGHT);
    for (let own = seed + lane; left > 0 && failing < most; own += IN_FLIGHT) {
      const details = await fc.check(property, { seed: own, numRuns: left, endOnFailure: !shrinks });
      left -= details.numRuns;
      isFailing = false;
      if (details.failed && details.counterexample !== null) {
        const [request] = details.counterexample;
        const { errorInstance } = details;
        const complaint: Complaint =
          errorInstance instanceof Refuted
            ? errorInstance.complaint
            : { count: 'serverErrors', what: String(errorInstance) };
        const failure = { ...complaint, seed: own, path: details.counterexamplePath ?? '', request };
        result.failures.push(keeps ? { ...failure, file: keep(failure) } : failure);
      }
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, lane) => draw(lane)));
  return result;
}

function keep(failure: Failure): string {
  mkdirSync(FOLDER, { recursive: true });
  const file = `${FOLDER}/${failure.seed}.json`;
  writeFileSync(file, `${JSON.stringify(failure, null, 2)}\n`);
  return file;
}
