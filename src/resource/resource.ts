import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import type { ErrorType } from '../errors/problem.js';

/** A resource of the API: its tag in the OpenAPI document, its errors, the types of its events and its routes. */
export interface Resource {
  tag: { name: string; description: string };
  /** The errors of this resource only, in the order of its errors.ts. */
  errors: readonly ErrorType[];
  /** The types of the events that the triggers of its tables record, such as `task.created`. */
  eventTypes: readonly string[];
  routes: FastifyPluginAsyncTypebox<RouteOptions>;
}

export interface RouteOptions {
  /** The types of the events of all resources. */
  eventTypes: readonly string[];
  /** The origin of URLs in responses; empty when it is not configured. */
  publicUrl: string;
  /** The origins of the other cells by their names. */
  cells: ReadonlyMap<string, string>;
}

/** Registers the routes of a resource, each with the tag of the resource. */
export async function registerResource(
  app: FastifyInstance,
  { tag, routes }: Resource,
  options: RouteOptions,
): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.schema = { ...route.schema, tags: [tag.name] };
    });
    await scope.register(routes, options);
  });
}
