import t from 'tap';
import type { Response } from '../../setup/send.js';
import { campaign, plan } from './fuzz/campaign.js';
import type { FuzzRequest } from './fuzz/request.js';
import { CANARY, openSite } from './fuzz/site.js';

const site = await openSite(t);
const planned = plan(site);

/** The same in every run, so that the result is deterministic. */
const SEED = 7;
const RUNS = 1_600;

type Fault = (answer: Response, request: FuzzRequest) => Response;

const isTask = ({ body }: Response) => body?.allowedTransitions !== undefined && body?.title !== undefined;
const withBody = (answer: Response, body: unknown): Response => ({
  ...answer,
  body,
  text: JSON.stringify(body),
});
const problem = (answer: Response, status: number, code: string): Response => ({
  ...withBody(answer, { type: '/problems/a', title: 'a', status, detail: 'a', instance: '/', code, requestId: answer.headers['x-request-id'] }),
  status,
  headers: { ...answer.headers, 'content-type': 'application/problem+json' },
}); // biome-ignore format: a problem

/** Faults planted into correct answers, and the expected report. */
const faults: Record<string, [plant: Fault, count: string, said: RegExp]> = {
  'a server error for a NUL': [(answer, { url }) => (url.includes('%00') ? { ...answer, status: 500 } : answer), 'serverErrors', /^500/],
  'a service that has no time': [(answer) => (answer.status === 404 ? problem(answer, 503, 'service_unavailable') : answer), 'serverErrors', /^503/],
  'a member that is not documented': [(answer) => (isTask(answer) ? withBody(answer, { ...answer.body, tenantId: 'a' }) : answer), 'succeeded', /additional properties/],
  'a member that is missing': [(answer) => (isTask(answer) ? withBody(answer, { ...answer.body, version: undefined }) : answer), 'succeeded', /required property 'version'/],
  'a member of another type': [(answer) => (isTask(answer) ? withBody(answer, { ...answer.body, version: '1' }) : answer), 'succeeded', /must be integer/],
  'a time that is none': [(answer) => (isTask(answer) ? withBody(answer, { ...answer.body, createdAt: 'now' }) : answer), 'succeeded', /format "date-time"/],
  'a status that is not documented': [(answer) => (answer.status === 201 ? { ...answer, status: 202 } : answer), 'succeeded', /is not in the document/],
  'a code of another operation': [(answer, { url }) => (answer.status === 404 && url.includes('/tasks/') ? problem(answer, 404, 'member_not_found') : answer), 'succeeded', /must be equal to one of the allowed values/],
  'a header that is missing': [(answer) => ({ ...answer, headers: { ...answer.headers, etag: undefined } }), 'succeeded', /lacks the documented ETag/],
  'no request id': [(answer) => ({ ...answer, headers: { ...answer.headers, 'x-request-id': undefined } }), 'succeeded', /without x-request-id/],
  'a 405 that says nothing': [(answer) => ({ ...answer, headers: { ...answer.headers, allow: undefined } }), 'succeeded', /Allow is undefined/],
  'a valid request that is refused': [(answer) => (answer.status === 201 ? problem(answer, 400, 'validation_failed') : answer), 'succeeded', /calls this valid/],
  'a valid search that is refused': [(answer, { url }) => (answer.status === 200 && url.includes('?') ? problem(answer, 400, 'invalid_parameter') : answer), 'succeeded', /calls this valid/],
  'a broken body that is taken': [(answer) => (answer.body?.code === 'validation_failed' ? { ...answer, status: 204, body: undefined, text: '' } : answer), 'succeeded', /breaks the document: (no )?body/],
  'an unknown parameter that is taken': [(answer) => (answer.body?.errors?.[0]?.code === 'unknown' && answer.body.errors[0].parameter ? withBody({ ...answer, status: 200 }, []) : answer), 'succeeded', /is unknown/],
  'a broken id that is not found': [(answer, { url }) => (answer.body?.errors?.[0]?.parameter === 'id' && url.includes('/tasks/') ? problem(answer, 404, 'task_not_found') : answer), 'succeeded', /breaks the document: path id/],
  'a page where nothing is': [(answer) => (answer.body?.code === 'route_not_found' ? withBody({ ...answer, status: 200 }, {}) : answer), 'succeeded', /nothing is at this path/],
  'a route that is gone': [(answer, { url }) => (/clubs.me$/.test(url) ? problem(answer, 404, 'route_not_found') : answer), 'succeeded', /the route exists/],
  'a row of the other club': [(answer, { url }) => (/tasks\?/.test(url) && Array.isArray(answer.body) ? withBody(answer, [...answer.body, { ...answer.body[0], title: CANARY }]) : answer), 'leaks', new RegExp(CANARY)],
  'a word of the database': [(answer) => (answer.status === 409 ? withBody(answer, { ...answer.body, detail: 'violates "app.shifts"' }) : answer), 'leaks', /app\.shifts/],
}; // biome-ignore format: a fault a line

t.test('fuzzing finds nothing without a planted fault', async (t) => {
  const { failures, tried } = await campaign(planned, RUNS, SEED);
  t.same([failures, tried], [[], RUNS]);
});

t.test('a fault in the answers is reported, with the seed that repeats it', async (t) => {
  const missed: string[] = [];
  for (const [name, [plant, count, said]] of Object.entries(faults)) {
    const send = async (request: FuzzRequest) => plant(await site.send(request), request);
    const { failures } = await campaign(planned, RUNS, SEED, { send, most: 1, shrinks: false });
    const isSeen = failures.some(
      (failure) => failure.count === count && said.test(failure.what) && failure.path !== '',
    );
    if (!isSeen) {
      missed.push(`${name}: ${failures.map(({ what }) => what.slice(0, 300)).join()}`);
    }
  }
  t.same(missed, []);
  t.comment(`planted faults: ${Object.keys(faults).length} planted, ${missed.length} missed`);
});

t.test('a reported request is minimal', async (t) => {
  const send = async (request: FuzzRequest) => {
    const answer = await site.send(request);
    return request.url.includes('limit=') ? { ...answer, status: 500 } : answer;
  };
  const { failures } = await campaign(planned, RUNS, SEED, { send, most: 1 });
  const [{ request } = { request: undefined }] = failures;
  t.match(request?.url, /^\/[\w/{}-]*\?(limit=[^&]*&?)+$/, 'only the faulty one of many parameters is left');
});
