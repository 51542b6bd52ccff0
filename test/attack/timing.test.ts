import { Agent, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { Random } from '../model/random.js';
import { SHIFT } from '../setup/endpoints.js';
import { type Method, startService } from '../setup/service.js';
import { rank } from './rank.js';
import { attack, isWhole } from './tally.js';

// Only relative times count, so a busy machine may take long.
t.setTimeout(1_800_000);
/** Of each of the two, and as many more before, which nobody times. */
const SAMPLES = isWhole ? 5_000 : 100;
const WARM = isWhole ? 300 : 30;
/**
 * What is judged is how well the two are told apart by time: of two answers, one of each kind, the slower one must be
 * the foreign one in 47 to 53 of 100 cases, where 50 is chance. It is no p value, because that says how sure one may
 * be that there is any difference at all: among enough samples the least drift of a shared machine is "significant",
 * and one run in twenty is so by chance alone.
 */
const EFFECT = 0.03;
/** Few samples scatter more than that by themselves. Chance goes beyond five deviations once in a million times. */
const CHANCE = 5;

const service = await startService(t);
const north = await service.db.makeClub('north');
const south = await service.db.makeClub('south');
const west = await service.db.makeClub('west');
const random = new Random(Date.now());
const admin = { north: service.as('anna', 'Manager', north), south: service.as('sam', 'Manager', south) };

/** As time-ordered as an id that there is, and nobody's. */
const beside = (id: string) => id.slice(0, -12) + random.hex(12);
const ids = { task: [] as string[], shift: [] as string[], member: [] as string[] };
for (let count = 0; count < 20; count += 1) {
  ids.task.push((await admin.south.post('/api/tasks', { title: 'Mow' })).body.id);
  ids.shift.push((await admin.south.post('/api/shifts', SHIFT)).body.id);
  ids.member.push(await service.as(`guest-${count}`, 'Member', south).memberId());
}
const own = (await admin.north.post('/api/tasks', { title: 'Mow' })).body.id;
await service.as('anna', 'Manager', north).memberId();
const authorization = `Bearer ${await service.token({ sub: 'anna', name: 'anna', clubs: { [north]: 'Manager' } })}`;

/** One request of a pair: `id` is a row of south, or of nobody. */
interface Door {
  title: string;
  method: Method;
  ids: string[];
  path(id: string): string;
  body?(id: string): unknown;
  tenant?(id: string): string;
  code: string;
}

const doors: Door[] = [
  { title: 'GET a task', method: 'GET', ids: ids.task, path: (id) => `/api/tasks/${id}`, code: 'task_not_found' },
  { title: 'GET a shift', method: 'GET', ids: ids.shift, path: (id) => `/api/shifts/${id}`, code: 'shift_not_found' },
  {
    title: 'PATCH an assignee',
    method: 'PATCH',
    ids: ids.member,
    path: () => `/api/tasks/${own}`,
    body: (assigneeId) => ({ assigneeId }),
    code: 'assignee_not_member',
  },
  {
    title: 'sign up',
    method: 'POST',
    ids: ids.shift,
    path: (id) => `/api/shifts/${id}/signup`,
    body: () => ({}),
    code: 'shift_not_found',
  },
  {
    title: 'name a club',
    method: 'GET',
    ids: [south, west],
    path: () => '/api/clubs/current',
    tenant: (id) => id,
    code: 'tenant_forbidden',
  },
]; // biome-ignore format: a door each

await service.app.listen({ host: '127.0.0.1', port: 0 });
const { port } = service.app.server.address() as AddressInfo;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
t.teardown(() => agent.destroy());

/** Sends a request over the one connection; answers with the time until its answer was whole, and its code. */
function time(
  { method, path, body, tenant }: Door,
  id: string,
): Promise<{ ns: number; code: string; status: number }> {
  const content = body === undefined ? undefined : JSON.stringify(body(id));
  const headers = {
    authorization,
    'x-tenant-id': tenant?.(id) ?? north,
    ...(content === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': content.length }),
  };
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, agent, method, path: path(id), headers });
    let began = 0n;
    request.on('error', reject).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      response.on('end', () => {
        const ns = Number(process.hrtime.bigint() - began);
        resolve({ ns, code: JSON.parse(text).code, status: response.statusCode ?? 0 });
      });
    });
    began = process.hrtime.bigint();
    request.end(content);
  });
}

t.test('the rank test says 0.5 of what is alike, and how far apart the rest is', async (t) => {
  // The race of Mann and Whitney's test as textbooks tell it: of 36 pairs a hare is behind in 11.
  const race = [...'THHHHHTTTTTH'].map((runner, place) => ({ runner, place }));
  const places = (wanted: string) => race.filter(({ runner }) => runner === wanted).map(({ place }) => place);
  t.equal(rank(places('H'), places('T')).auc, 11 / 36);
  t.equal(rank([1, 2, 3], [1, 2, 3]).auc, 0.5);
  t.equal(rank([4, 5], [1, 2, 3]).auc, 1);
  t.equal(rank([1, 2, 3], [4, 5]).auc, 0);
  t.equal(rank([1, 1], [1, 2]).auc, 0.25);
  // n = m = 5,000 without ties: √((n + m + 1) / (12 · n · m)).
  const [odd, even] = [1, 0].map((rest) => Array.from({ length: 5_000 }, (_, at) => 2 * at + rest));
  t.ok(Math.abs(rank(odd ?? [], even ?? []).deviation - 0.005774) < 1e-6);
});

t.test('another club’s ids are not told from nobody’s by the time it takes to refuse them', (t) =>
  attack(t, 'timing', 2 * SAMPLES * doors.length, async (tally) => {
    for (const door of doors) {
      const foreign: number[] = [];
      const missing: number[] = [];
      const knock = async (ids: string[], times: number[]) => {
        tally.tried += 1;
        const { ns, code, status } = await time(door, random.pick(ids));
        times.push(ns);
        if (code !== door.code) {
          (status >= 500 ? tally.serverErrors : tally.through).push(`${door.title}: ${status} ${code}`);
        }
      };
      const pairs = [
        [door.ids, foreign],
        [door.ids.map(beside), missing],
      ] as const;
      for (let turn = -WARM; turn < SAMPLES; turn += 1) {
        // Both in turn, so that whatever changes meanwhile changes for both; and in random order, so that neither is
        // always the one behind the other.
        for (const [ids, times] of random.isTrue(0.5) ? pairs : [...pairs].reverse()) {
          await knock(ids, turn < 0 ? [] : times);
        }
      }
      const { auc, deviation } = rank(foreign, missing);
      const bound = Math.max(EFFECT, CHANCE * deviation);
      const said = `${door.title}: AUC ${auc.toFixed(4)}, within 0.5 ± ${bound.toFixed(3)}`;
      t.comment(said);
      if (Math.abs(auc - 0.5) > bound) {
        tally.leaks.push(said);
      }
    }
  }),
);
