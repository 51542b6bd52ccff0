import { subscribe } from 'node:diagnostics_channel';
import type { FastifyInstance } from 'fastify';
import type { Role } from '../../src/roles.js';
import type { Method } from './service.js';

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
  /** What somebody whose role suffices is told, about an id that no row has. */
  answer: number | string;
  body?: unknown;
}

/** Every endpoint under /api, and the least role it needs. */
export const endpoints: Endpoint[] = [
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
  { method: 'DELETE', path: '/api/shifts/:id/signup', role: 'Member', answer: 'shift_not_found' },
  { method: 'GET', path: '/api/clubs/me', role: 'Viewer', answer: 200 },
  { method: 'GET', path: '/api/clubs/current', role: 'Viewer', answer: 200 },
  { method: 'GET', path: '/api/members', role: 'Member', answer: 200 },
  { method: 'GET', path: '/api/members/:id', role: 'Member', answer: 'member_not_found' },
  { method: 'GET', path: '/api/members/me', role: 'Viewer', answer: 200 },
]; // biome-ignore format: one endpoint a line

/** The endpoint's path, about an id that no row has. */
export const pathOf = ({ path }: Endpoint): string => path.replace(':id', MISSING);

/**
 * The routes that services started from now on register, as Fastify announces them; without those for HEAD,
 * which follow from GET.
 */
export function watchRoutes(): { method: string; url: string; policy: string | undefined }[] {
  const routes: ReturnType<typeof watchRoutes> = [];
  subscribe('fastify.initialization', (message) => {
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url, config }) => {
      if (method !== 'HEAD') {
        routes.push({ method: String(method), url, policy: config?.policy });
      }
    });
  });
  return routes;
}
