import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import type { ErrorType } from '../errors/problem.js';

/** A resource of the API: its tag in the OpenAPI document, its errors and its routes. */
export interface Resource {
  tag: { name: string; description: string };
  /** The errors of this resource only, in the order of its errors.ts. */
  errors: readonly ErrorType[];
  routes: FastifyPluginAsyncTypebox;
}

/** Registers the routes of a resource, each with the tag of the resource. */
export async function registerResource(app: FastifyInstance, { tag, routes }: Resource): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.schema = { ...route.schema, tags: [tag.name] };
    });
    await scope.register(routes);
  });
}
