import swagger from '@fastify/swagger';
import plugin from 'fastify-plugin';
import { TENANTLESS_PATH } from '../auth/tenant.js';
import type { Catalogue } from '../errors/catalogue.js';
import type { Resource } from '../http/resource.js';
import { NoQuery } from '../validation/schemas.js';
import { complete, type Document } from './document.js';
import type { ObjectSchema, Operation } from './operation.js';

/** What the service is called. */
export const TITLE = 'Club Management Service';

export interface OpenApiOptions {
  catalogue: Catalogue;
  /** The tags of the resources. */
  tags: Resource['tag'][];
  testUserHeader: boolean;
  isRateLimited: boolean;
}

/**
 * The document: OpenAPI 3.1 at /openapi.json; docs-page.ts makes a page of it.
 *
 * The schemas of the routes are the validators, the serializers and this document; nothing is written twice.
 */
export const openapi = plugin<OpenApiOptions>(
  async (app, { catalogue, tags, testUserHeader, isRateLimited }) => {
    const operations: Operation[] = [];

    app.addHook('onRoute', function ({ method, url, config, schema }) {
      if (typeof method === 'string' && method !== 'HEAD' && schema !== undefined && schema.hide !== true) {
        const hasTenant = config?.policy !== undefined && url !== TENANTLESS_PATH;
        operations.push({
          method,
          url,
          policy: config?.policy,
          errors: schema.errors ?? [],
          requestHeaders: schema.requestHeaders ?? [],
          responseHeaders: schema.responseHeaders ?? [],
          hasTenant,
          hasTestUser: testUserHeader && hasTenant,
          isRateLimited: isRateLimited && config?.policy !== undefined,
          body: resolve(schema.body, (id) => this.getSchema(id)),
          query: resolve(schema.querystring, (id) => this.getSchema(id)),
          bodyIsOptional: config?.bodyIsOptional ?? false,
        });
      }
    });

    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: TITLE,
          version: '0.2.0',
          description:
            'Clubs, their members, tasks and shifts. Each club is a tenant: name it in `X-Tenant-Id`. Every refusal is a ' +
            'problem with a `code` to switch on and a `detail` that says what to do; its `type` leads to a page with more, ' +
            'and [/problems](/problems) lists all.',
          contact: { name: 'The operator of this service' },
          license: { name: 'MIT', identifier: 'MIT' },
        },
        servers: [{ url: '/' }],
        tags: [...tags, { name: 'Operations', description: 'For whatever watches the process.' }],
        security: [{ token: [] }],
        components: {
          securitySchemes: {
            token: {
              type: 'http',
              scheme: 'bearer',
              bearerFormat: 'JWT',
              description:
                'An access token of the identity provider. It says who you are, and your role in each club.',
            },
          },
        },
      },
      refResolver: {
        buildLocalReference: (json, _base, _fragment, index) => String(json.$id ?? `def-${index}`),
      },
      transformObject: (source) =>
        complete(
          ('openapiObject' in source ? source.openapiObject : {}) as Document,
          operations,
          catalogue,
        ) as object,
    });
    // The same bytes for everybody: made anew for each, they would fill the memory for those who do not read them.
    let bytes: Buffer | undefined;
    app.get('/openapi.json', { schema: { hide: true, querystring: NoQuery } }, async (_request, reply) => {
      bytes ??= Buffer.from(JSON.stringify(app.swagger()));
      return reply.type('application/json; charset=utf-8').send(bytes);
    });
  },
  { name: 'openapi', dependencies: ['problems'] },
);

/** The schema itself where a route names a registered one. */
function resolve(schema: unknown, getSchema: (id: string) => unknown): ObjectSchema | undefined {
  const { $ref } = (schema ?? {}) as { $ref?: string };
  return ($ref === undefined ? schema : getSchema($ref)) as ObjectSchema | undefined;
}
