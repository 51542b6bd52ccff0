import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance } from 'fastify';
import { FULL_SHIFT_ID, IDA_ID, STARTED_SHIFT_ID } from '../../src/examples.js';
import type { Role } from '../../src/roles.js';
import {
  exampleOfBody,
  linksOf,
  listsInOrder,
  listsOfIds,
  type Operation,
  type Parameter,
  readDocument,
} from '../../tools/document.js';
import { type Method, type Person, type Response, sendUnderLoad } from './send.js';
import type { TestService } from './service.js';

/** An id that no row has. */
export const MISSING = '99999999-9999-4999-8999-999999999999';

/** The subject of the member of `makeRows`. */
export const MEMBER = 'member of a row';

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
  /** The result for a caller with a sufficient role, for an id that no row has: a status or the code of an error. */
  answer: number | string;
  body?: unknown;
}

/** Every endpoint under /api, and the lowest role that it needs: written by hand, not derived from the policies. */
export const contract: Pick<Endpoint, 'method' | 'path' | 'role'>[] = [
  { method: 'GET', path: '/api/tasks', role: 'Member' },
  { method: 'GET', path: '/api/tasks/:id', role: 'Member' },
  { method: 'POST', path: '/api/tasks', role: 'Manager' },
  { method: 'PATCH', path: '/api/tasks/:id', role: 'Member' },
  { method: 'DELETE', path: '/api/tasks/:id', role: 'Admin' },
  { method: 'GET', path: '/api/shifts', role: 'Viewer' },
  { method: 'GET', path: '/api/shifts/:id', role: 'Viewer' },
  { method: 'POST', path: '/api/shifts', role: 'Manager' },
  { method: 'PUT', path: '/api/shifts/:id', role: 'Manager' },
  { method: 'DELETE', path: '/api/shifts/:id', role: 'Admin' },
  { method: 'POST', path: '/api/shifts/:id/signup', role: 'Member' },
  { method: 'GET', path: '/api/shifts/:id/signup', role: 'Member' },
  { method: 'DELETE', path: '/api/shifts/:id/signup', role: 'Member' },
  { method: 'GET', path: '/api/shifts/:id/signups/:memberId', role: 'Viewer' },
  { method: 'PUT', path: '/api/shifts/:id/signups/:memberId', role: 'Manager' },
  { method: 'DELETE', path: '/api/shifts/:id/signups/:memberId', role: 'Manager' },
  { method: 'POST', path: '/api/shifts/batch', role: 'Manager' },
  { method: 'DELETE', path: '/api/shifts', role: 'Manager' },
  { method: 'GET', path: '/api/signups', role: 'Viewer' },
  { method: 'POST', path: '/api/shifts/:id/wait', role: 'Member' },
  { method: 'GET', path: '/api/shifts/:id/wait', role: 'Member' },
  { method: 'DELETE', path: '/api/shifts/:id/wait', role: 'Member' },
  { method: 'GET', path: '/api/shifts/:id/waits', role: 'Manager' },
  { method: 'PUT', path: '/api/shifts/:id/waits/:memberId', role: 'Manager' },
  { method: 'GET', path: '/api/shifts/:id/waits/:memberId', role: 'Manager' },
  { method: 'DELETE', path: '/api/shifts/:id/waits/:memberId', role: 'Manager' },
  { method: 'GET', path: '/api/shifts/:id/attendance', role: 'Manager' },
  { method: 'GET', path: '/api/shifts/:id/attendance/:memberId', role: 'Member' },
  { method: 'PUT', path: '/api/shifts/:id/attendance/:memberId', role: 'Manager' },
  { method: 'DELETE', path: '/api/shifts/:id/attendance/:memberId', role: 'Manager' },
  { method: 'GET', path: '/api/attendance', role: 'Member' },
  { method: 'GET', path: '/api/hours', role: 'Member' },
  { method: 'GET', path: '/api/clubs/me', role: 'Viewer' },
  { method: 'GET', path: '/api/clubs/current', role: 'Viewer' },
  { method: 'GET', path: '/api/events', role: 'Member' },
  { method: 'GET', path: '/api/members', role: 'Member' },
  { method: 'GET', path: '/api/members/:id', role: 'Member' },
  { method: 'GET', path: '/api/members/me', role: 'Viewer' },
  { method: 'POST', path: '/api/members', role: 'Manager' },
  { method: 'POST', path: '/api/members/batch', role: 'Manager' },
  { method: 'PATCH', path: '/api/members/:id', role: 'Manager' },
  { method: 'DELETE', path: '/api/members/:id', role: 'Admin' },
  { method: 'GET', path: '/api/members/me/data', role: 'Viewer' },
  { method: 'GET', path: '/api/members/:id/data', role: 'Admin' },
  { method: 'PUT', path: '/api/members/:id/membership', role: 'Admin' },
  { method: 'POST', path: '/api/members/:id/merge', role: 'Admin' },
  { method: 'PUT', path: '/api/members/me/calendar', role: 'Member' },
  { method: 'GET', path: '/api/members/me/calendar', role: 'Viewer' },
  { method: 'DELETE', path: '/api/members/me/calendar', role: 'Viewer' },
  { method: 'DELETE', path: '/api/members/:id/calendar', role: 'Admin' },
];

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
export const document = await readDocument();
stop();
const lists = listsOfIds(document);

/** The operations of a path of a route, such as `/api/tasks/:id`. */
export const operationsAt = (path: string): Record<string, Operation> =>
  document.paths[path.replaceAll(/:(\w+)/g, '{$1}')] ?? {};

/** The operation of an endpoint in the document. */
export function operationOf({ method, path }: Pick<Endpoint, 'method' | 'path'>): Operation {
  const operation = operationsAt(path)[method.toLowerCase()];
  if (operation === undefined) {
    throw new Error(`${method} ${path} is not in the document.`);
  }
  return operation;
}

/** An endpoint of the contract: the body is the example in the document. */
function endpointOf(stated: (typeof contract)[number]): Endpoint {
  const operation = operationOf(stated);
  const notFound = operation.responses['404']?.content?.['application/problem+json']?.examples ?? {};
  return {
    ...stated,
    answer: Object.keys(notFound)[0] ?? (operation.responses['201'] ? 201 : 200),
    ...(operation.requestBody && { body: exampleOfBody(operation, document) ?? {} }),
  };
}

/** The endpoints of the contract, in the order of their routes. A test fails if a route is not in the contract. */
export const endpoints: Endpoint[] = routes.flatMap(({ method, url }) =>
  contract.filter((stated) => stated.method === method && stated.path === url).map(endpointOf),
);

/** The parameters that a request needs: those of the path, and the required ones of the query string. */
export const parametersOf = (endpoint: Pick<Endpoint, 'method' | 'path'>) =>
  (operationOf(endpoint).parameters ?? []).filter(
    (one) => one.in === 'path' || (one.in === 'query' && one.required),
  );

/** The value of a parameter: by its name, its example, or the path of the list that has its example; otherwise an id that no row has. */
export const idFor = ({ name, example }: Parameter, ids: Record<string, string> = {}): string =>
  ids[name] ?? ids[String(example)] ?? ids[lists.get(String(example)) ?? ''] ?? MISSING;

/**
 * The URL of an endpoint, with the query parameters that it needs.
 *
 * @param ids where `idFor` finds the values of its parameters
 */
export function pathOf(
  endpoint: Pick<Endpoint, 'method' | 'path'>,
  ids: Record<string, string> = {},
): string {
  const query = new URLSearchParams();
  let path = endpoint.path;
  for (const parameter of parametersOf(endpoint)) {
    const value = idFor(parameter, ids);
    path = path.replace(`:${parameter.name}`, () => value);
    if (parameter.in === 'query') {
      query.set(parameter.name, value);
    }
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

/** A URL with a further part of its query string. */
export const withQuery = (url: string, part: string): string =>
  `${url}${url.includes('?') ? '&' : '?'}${part}`;

/** The endpoints that create a row of a list, each after those whose rows its example references. */
export const makers = listsInOrder(document).flatMap((list) =>
  endpoints.filter(({ method, path }) => method === 'POST' && path === list),
);

/** Whether an endpoint creates rows and is not the path of their list. */
const isOther = ({ method, path }: Endpoint) =>
  method === 'POST' && !path.includes(':') && operationsAt(path).get === undefined;

/** The free text fields of a new row. */
export function textsOf(path: string): string[] {
  const schema = document.paths[path]?.post?.requestBody?.content['application/json']?.schema;
  const { properties = {} } = document.components.schemas[schema?.$ref?.split('/').at(-1) ?? ''] ?? {};
  return Object.keys(properties).filter((name) => properties[name]?.['x-text'] !== undefined);
}

/** The table of the rows of a list. */
export const tableOf = (path: string): string => `app.${path.split('/').at(-1)?.replaceAll('-', '_')}`;

/** The body with the ids of a club's rows, by the path of their list, instead of the ids of the examples. */
export function fit<Body>(body: Body, ids: Record<string, string>): Body {
  if (linksOf(body, lists).length === 0) {
    return body;
  }
  return JSON.parse(JSON.stringify(body), (_name, value) => ids[lists.get(value) ?? ''] ?? value);
}

/**
 * Creates a row of each list, and the rows of each other POST without an id, from the examples; each by another caller, to avoid
 * rate limits.
 *
 * @param before only the lists before this one, to which its example can refer
 * @returns the ids by the path of their list; those in the query string of a Location by their names
 */
export async function makeRows(
  service: TestService,
  clubId: string,
  before?: string,
): Promise<Record<string, string>> {
  const admin = service.as('maker of other rows', 'Admin', clubId);
  const ids: Record<string, string> = {
    '/api/members': await service.as(MEMBER, 'Admin', clubId).memberId(),
    [IDA_ID]: (await sendUnderLoad(() => admin.post('/api/members', { displayName: 'Ida' }))).body.id,
  };
  for (const maker of makers) {
    if (maker.path === before) {
      return ids;
    }
    const { id } = (await createExample(service, clubId, maker, ids)).body;
    // The member of the rows is the one who has a login.
    ids[maker.path] ??= id;
  }
  for (const maker of endpoints.filter(isOther)) {
    const { location } = (await createExample(service, clubId, maker, ids)).headers;
    Object.assign(ids, Object.fromEntries(new URL(String(location), 'http://service').searchParams));
  }
  ids[STARTED_SHIFT_ID] = await makeStartedShift(admin);
  ids[FULL_SHIFT_ID] = await makeFullShift(admin);
  return ids;
}

/** Sends the example of a POST. */
async function createExample(
  service: TestService,
  clubId: string,
  { path, body }: Endpoint,
  ids: Record<string, string>,
): Promise<Response> {
  const admin = service.as(`maker of ${path}`, 'Admin', clubId);
  const response = await admin.post(path, fit(body, ids));
  if (response.status !== 201) {
    throw new Error(
      `POST ${path} refuses the first example of its request in schemas.ts: ${response.body.detail} ` +
        'An id in it is that of an example of another list.',
    );
  }
  return response;
}

/** Creates a shift that has started, which takes attendance and no signups. @returns its id */
export async function makeStartedShift(admin: Person): Promise<string> {
  const past = { startsAt: '2020-01-01T10:00:00Z', endsAt: '2020-01-01T12:00:00Z' };
  return (await sendUnderLoad(() => admin.post('/api/shifts', { ...SHIFT, ...past }))).body.id;
}

/** Creates a shift that is still to come and whose one place its creator has. @returns its id */
export async function makeFullShift(admin: Person): Promise<string> {
  const { body } = await sendUnderLoad(() => admin.post('/api/shifts', SHIFT));
  await sendUnderLoad(() => admin.post(`/api/shifts/${body.id}/signup`));
  return body.id;
}

/** The endpoints with bodies that are valid in a club with these rows. */
export function endpointsFor(ids: Record<string, string>): Endpoint[] {
  return endpoints.map((endpoint) => ({ ...endpoint, body: fit(endpoint.body, ids) }));
}

/**
 * A new club in which an endpoint takes its example, which is returned with the ids of the club: the list of a POST has no row with the
 * same values.
 */
export async function makeClubFor(service: TestService, { method, path }: Pick<Endpoint, 'method' | 'path'>) {
  const clubId = await service.db.makeClub();
  const ids = await makeRows(service, clubId, method === 'POST' ? path : undefined);
  // From the document: the body of an endpoint of `endpointsFor` has the ids of another club.
  const { body } = endpoints.find((one) => one.method === method && one.path === path) as Endpoint;
  return { clubId, ids, url: pathOf({ method, path }, ids), body: fit(body, ids) };
}

/**
 * Creates one more row of a list. If a value of it is unique and taken, with other numbers, or with other texts too.
 */
export async function addRow(person: Person, path: string, row: Record<string, unknown>): Promise<Response> {
  let response = await sendUnderLoad(() => person.post(path, row));
  for (const types of [['number'], ['number'], ['number', 'string'], ['number', 'string']]) {
    if (response.status === 409) {
      response = await sendUnderLoad(() => person.post(path, varied({ method: 'POST', path }, row, types)));
    }
  }
  return response;
}

let variations = 0;

/** The body of an endpoint with other values of these types, within their limits. */
export function varied(
  endpoint: Pick<Endpoint, 'method' | 'path'>,
  row: Record<string, unknown>,
  types: string[],
): Record<string, unknown> {
  variations += 1;
  const { schema } = operationOf(endpoint).requestBody?.content['application/json'] ?? {};
  const { properties = {} } = document.components.schemas[schema?.$ref?.split('/').at(-1) ?? ''] ?? {};
  const other = (value: unknown, field: Record<string, unknown>) => {
    const { maxLength, minimum, maximum } = field as Record<string, number>;
    if (typeof value === 'number') {
      return Number(minimum) + (variations % (Number(maximum) - Number(minimum) + 1));
    }
    return field['x-text'] === undefined || field.pattern !== undefined
      ? value
      : `${String(value).slice(0, Number(maxLength) - 8)} ${variations}`;
  };
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      types.includes(typeof value) ? other(value, properties[name] ?? {}) : value,
    ]),
  );
}
