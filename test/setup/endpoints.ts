import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance } from 'fastify';
import type { Role } from '../../src/roles.js';
import { linksOf, listsInOrder, listsOfIds, type Operation, readDocument } from '../../tools/document.js';
import type { Method } from './send.js';
import type { TestService } from './service.js';

/** An id that no row has. */
export const MISSING = '99999999-9999-4999-8999-999999999999';

export const SHIFT = {
  title: 'Bar',
  startsAt: '2100-01-01T10:00:00Z',
  endsAt: '2100-01-01T12:00:00Z',
  capacity: 1,
};

export interface Endpoint {
  method: Method;
  path: string;
  role: Role;
  /** The answer to a caller with a sufficient role, for an id that no row has. */
  answer: number | string;
  body?: unknown;
}

/** The endpoints of the contract, and the lowest role that each needs: written by hand, not derived. */
export const contract: Endpoint[] = [
  { method: 'GET', path: '/api/tasks', role: 'Member', answer: 200 },
  { method: 'GET', path: '/api/tasks/:id', role: 'Member', answer: 'task_not_found' },
  { method: 'POST', path: '/api/tasks', role: 'Manager', answer: 201, body: { title: 'Mow' } },
  { method: 'PATCH', path: '/api/tasks/:id', role: 'Member', answer: 'task_not_found', body: { title: 'Mow' } },
  { method: 'DELETE', path: '/api/tasks/:id', role: 'Admin', answer: 'task_not_found' },
  { method: 'GET', path: '/api/shifts', role: 'Viewer', answer: 200 },
  { method: 'GET', path: '/api/shifts/:id', role: 'Viewer', answer: 'shift_not_found' },
  { method: 'POST', path: '/api/shifts', role: 'Manager', answer: 201, body: SHIFT },
  { method: 'PUT', path: '/api/shifts/:id', role: 'Manager', answer: 'shift_not_found', body: SHIFT },
  { method: 'DELETE', path: '/api/shifts/:id', role: 'Admin', answer: 'shift_not_found' },
  { method: 'POST', path: '/api/shifts/:id/signup', role: 'Member', answer: 'shift_not_found', body: {} },
  { method: 'GET', path: '/api/shifts/:id/signup', role: 'Member', answer: 'shift_not_found' },
  { method: 'DELETE', path: '/api/shifts/:id/signup', role: 'Member', answer: 'shift_not_found' },
  { method: 'GET', path: '/api/clubs/me', role: 'Viewer', answer: 200 },
  { method: 'GET', path: '/api/clubs/current', role: 'Viewer', answer: 200 },
  { method: 'GET', path: '/api/members', role: 'Member', answer: 200 },
  { method: 'GET', path: '/api/members/:id', role: 'Member', answer: 'member_not_found' },
  { method: 'GET', path: '/api/members/me', role: 'Viewer', answer: 200 },
]; // biome-ignore format: one endpoint a line

interface Route {
  method: string;
  url: string;
  policy: string | undefined;
}

/** Records the routes of services that start later; without HEAD, which follows from GET. */
function followRoutes(): { routes: Route[]; stop(): void } {
  const routes: Route[] = [];
  const follow = (message: unknown) => {
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url, config }) => {
      if (method !== 'HEAD') {
        routes.push({ method: String(method), url, policy: config?.policy });
      }
    });
  };
  subscribe('fastify.initialization', follow);
  return { routes, stop: () => void unsubscribe('fastify.initialization', follow) };
}

/** The routes that services register from now on, as Fastify reports them. */
export const watchRoutes = (): Route[] => followRoutes().routes;

const { routes, stop } = followRoutes();
const document = await readDocument();
stop();
const lists = listsOfIds(document);

/** The endpoints that the list above lacks, such as those of a new resource, from their routes and the document. */
function furtherEndpoints(): Endpoint[] {
  const { paths, components } = document;
  const known = new Set(contract.map(({ method, path }) => `${method} ${path}`));
  return routes
    .filter(({ method, url, policy }) => policy !== undefined && !known.has(`${method} ${url}`))
    .map(({ method, url, policy }) => {
      const operation = paths[url.replace(':id', '{id}')]?.[method.toLowerCase()] as Operation;
      const schema = operation.requestBody?.content['application/json']?.schema;
      const named = components.schemas[schema?.$ref?.replace('#/components/schemas/', '') ?? ''];
      const [missing] = Object.keys(
        operation.responses['404']?.content?.['application/problem+json']?.examples ?? {},
      );
      return {
        method: method as Method,
        path: url,
        role: policy?.slice('Require'.length) as Role,
        answer: url.includes(':id') ? (missing as string) : method === 'POST' ? 201 : 200,
        ...(schema && { body: named?.examples?.[0] ?? {} }),
      };
    });
}

/** Every endpoint under /api, and the lowest role that it needs. */
export const endpoints: Endpoint[] = [...contract, ...furtherEndpoints()];

/** The endpoint's path with an id that no row has. */
export const pathOf = ({ path }: Endpoint): string => path.replace(':id', MISSING);

/** The endpoints that create a row of a list, each after those whose rows its example references. */
export const makers = listsInOrder(document).flatMap((list) =>
  endpoints.filter(({ method, path }) => method === 'POST' && path === list),
);

/** The free text fields of a new row. */
export function textsOf(path: string): string[] {
  const schema = document.paths[path]?.post?.requestBody?.content['application/json']?.schema;
  const { properties = {} } = document.components.schemas[schema?.$ref?.split('/').at(-1) ?? ''] ?? {};
  return Object.keys(properties).filter((name) => properties[name]?.['x-text'] !== undefined);
}

/** The body with the ids of a club's rows, by the path of their list, instead of those of the examples. */
export function fit<Body>(body: Body, ids: Record<string, string>): Body {
  if (linksOf(body, lists).length === 0) {
    return body;
  }
  return JSON.parse(JSON.stringify(body), (_name, value) => ids[lists.get(value) ?? ''] ?? value);
}

/**
 * Creates a row of each list that a body references, from its example; each by another caller, to avoid rate limits.
 *
 * @returns the ids by the path of their list
 */
export async function makeLinked(service: TestService, clubId: string): Promise<Record<string, string>> {
  const linked = new Set(endpoints.flatMap(({ body }) => linksOf(body, lists)));
  const ids: Record<string, string> = {};
  if (linked.has('/api/members')) {
    ids['/api/members'] = await service.as('linked', 'Admin', clubId).memberId();
  }
  for (const { path, body } of makers.filter(({ path }) => linked.has(path))) {
    const admin = service.as(`maker of ${path}`, 'Admin', clubId);
    ids[path] = (await admin.post(path, fit(body, ids))).body.id;
  }
  return ids;
}

/** The endpoints with bodies that are valid in this club. */
export async function endpointsFor(service: TestService, clubId: string): Promise<Endpoint[]> {
  const ids = await makeLinked(service, clubId);
  return endpoints.map((endpoint) => ({ ...endpoint, body: fit(endpoint.body, ids) }));
}
