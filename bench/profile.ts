import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../tools/root.js';
import { benchmarkOf, prepare } from './benchmarks.js';
import type { Caller, Signer } from './callers.js';
import { service, startContender } from './contenders.js';
import type { Environment } from './environment.js';

const DIRECTORY = join(root, '.tap/profile');
/** The warm-up before the profile. */
const WARM_UP_MS = 2_000;
const WARM_REQUESTS = 10_000;
const WARM_UPS = 15;
const WATCHED_MS = 15_000;
const LINES = 40;

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

/** Profiles the service under a workload with Node.js: the functions with the most self time. */
export async function profileService(
  workload: string,
  { environment, callers, signer }: { environment: Environment; callers: Caller[]; signer: Signer },
): Promise<string[]> {
  await mkdir(DIRECTORY, { recursive: true });
  const before = new Set(await readdir(DIRECTORY));
  const contender = await startContender(
    { ...service, flags: ['--cpu-prof', `--cpu-prof-dir=${DIRECTORY}`] },
    environment,
  );
  const benchmark = benchmarkOf(await prepare(contender, callers, signer), workload, environment);
  for (let requests = 0, time = 0; time < WARM_UPS && requests < WARM_REQUESTS; time += 1) {
    requests += (await benchmark.run(WARM_UP_MS)).requests;
  }
  const measurement = await benchmark.run(WATCHED_MS);
  await contender.stop();
  const file = (await readdir(DIRECTORY)).find((name) => !before.has(name)) as string;
  const profile = JSON.parse(await readFile(join(DIRECTORY, file), 'utf8')) as Profile;
  const total = `${measurement.nodeUs.toFixed(0)} µs of Node and ${measurement.postgresUs.toFixed(0)} µs of PostgreSQL a request`;
  return [`${total}; whole profile: .tap/profile/${file}`, ...topOf(profile)];
}

function topOf({ nodes, samples, timeDeltas }: Profile): string[] {
  const names = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => [
      id,
      `${functionName || '(anonymous)'} ${url.replace(/^.*\/(node_modules|dist)\//, '$1/')}:${lineNumber + 1}`,
    ]),
  );
  const own = new Map<string, number>();
  samples.forEach((id, index) => {
    const name = names.get(id) ?? '?';
    own.set(name, (own.get(name) ?? 0) + (timeDeltas[index] ?? 0));
  });
  const isIdle = (name: string) => /^\((idle|root)\)/.test(name);
  const busy = [...own].filter(([name]) => !isIdle(name)).reduce((sum, [, us]) => sum + us, 0);
  return [...own]
    .filter(([name]) => !isIdle(name))
    .sort(([, one], [, other]) => other - one)
    .slice(0, LINES)
    .map(([name, us]) => `${((us / busy) * 100).toFixed(1).padStart(5)} %  ${name}`);
}
