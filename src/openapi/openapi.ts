import swagger from '@fastify/swagger';
import plugin from 'fastify-plugin';
import type { Catalogue } from '../errors/catalogue.js';
import { type SecretPaths, secretPathsOf } from '../http/target.js';
import type { Resource } from '../resource/resource.js';
import { NoQuery } from '../validation/schemas.js';
import { VERSION } from '../version.js';
import { complete, type Document } from './document.js';
import type { ObjectSchema, Operation } from './operation.js';

/** The name of the service. */
export const TITLE = 'Club Management Service';

/** What most callers need comes first in the document and on its page; the others follow by name. */
const FIRST = ['Shifts', 'Signups', 'Tasks'];

export interface OpenApiOptions {
  catalogue: Catalogue;
  /** The tags of the resources. */
  tags: Resource['tag'][];
  secretPaths: readonly SecretPaths[];
  testUserHeader: boolean;
  isRateLimited: boolean;
}

/**
 * The OpenAPI 3.1 document at /openapi.json; docs-page.ts shows it as a page.
 *
 * The validators, the serializers and this document use the same schemas of the routes.
 */
export const openapi = plugin<OpenApiOptions>(
  async (app, { catalogue, tags, secretPaths, testUserHeader, isRateLimited }) => {
    const operations: Operation[] = [];

    app.addHook('onRoute', function ({ method, url, config, schema }) {
      if (typeof method === 'string' && method !== 'HEAD' && schema !== undefined && schema.hide !== true) {
        const hasTenant = config?.policy !== undefined && config.tenant !== false;
        operations.push({
          method,
          url,
          shownAs: secretPathsOf(url, secretPaths)?.shownAs,
          policy: config?.policy,
          errors: schema.errors ?? [],
          requestHeaders: schema.requestHeaders ?? [],
          responseHeaders: schema.responseHeaders ?? [],
          hasTenant,
          hasTestUser: testUserHeader && hasTenant,
          isRateLimited: isRateLimited && (config?.policy !== undefined || schema.isRateLimited === true),
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
          version: VERSION,
          description:
            'Clubs, their members, tasks and shifts. Each club is a tenant: send its id in `X-Tenant-Id`. Every error has a ' +
            '`code` for programs, a `detail` that says what to do, and a `type` that links to its page; ' +
            '[/problems](/problems) lists all codes.',
          contact: { name: 'The operator of this service' },
          license: { name: 'MIT', identifier: 'MIT' },
        },
        servers: [{ url: '/' }],
        tags: [
          ...tags.toSorted(byNeed),
          { name: 'Operations', description: 'For load balancers and monitoring.' },
        ],
        security: [{ token: [] }],
        components: {
          securitySchemes: {
            token: {
              type: 'http',
              scheme: 'bearer',
              bearerFormat: 'JWT',
              description:
                'An access token of the identity provider. It has your identity and your role in each club.',
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
    // Serialized once: a copy per request would fill the memory when clients read slowly.
    let bytes: Buffer | undefined;
    app.get('/openapi.json', { schema: { hide: true, querystring: NoQuery } }, async (_request, reply) => {
      bytes ??= Buffer.from(JSON.stringify(app.swagger()));
      return reply.type('application/json; charset=utf-8').send(bytes);
    });
  },
  { name: 'openapi', dependencies: ['error-handler', 'body'] },
);

function byNeed(one: Resource['tag'], other: Resource['tag']): number {
  const [rank, otherRank] = [one, other]
    .map(({ name }) => FIRST.indexOf(name))
    .map((at) => (at === -1 ? FIRST.length : at));
  return Number(rank) - Number(otherRank);
}

/** Resolves a reference to a registered schema. */
function resolve(schema: unknown, getSchema: (id: string) => unknown): ObjectSchema | undefined {
  const { $ref } = (schema ?? {}) as { $ref?: string };
  return ($ref === undefined ? schema : getSchema($ref)) as ObjectSchema | undefined;
}
