import swagger from '@fastify/swagger';
import plugin from 'fastify-plugin';
import { TENANTLESS_PATH } from '../auth/tenant.js';
import { NoQuery } from '../validation/schemas.js';
import { complete, type Document } from './document.js';
import type { Operation } from './operation.js';

/** What the service is called. */
export const TITLE = 'Club Management Service';

/**
 * The document: OpenAPI 3.1 at /openapi.json; docs-page.ts makes a page of it.
 *
 * The schemas of the routes are the validators, the serializers and this document; nothing is written twice.
 */
export const openapi = plugin<{ testUserHeader: boolean; isRateLimited: boolean }>(
  async (app, { testUserHeader, isRateLimited }) => {
    const operations: Operation[] = [];

    app.addHook('onRoute', ({ method, url, config, schema }) => {
      if (typeof method === 'string' && method !== 'HEAD' && schema !== undefined && schema.hide !== true) {
        const hasTenant = config?.policy !== undefined && url !== TENANTLESS_PATH;
        operations.push({
          method,
          url,
          policy: config?.policy,
          problems: config?.problems ?? [],
          reads: config?.reads ?? [],
          sends: config?.sends ?? [],
          hasTenant,
          hasTestUser: testUserHeader && hasTenant,
          isRateLimited: isRateLimited && config?.policy !== undefined,
          takesBody: schema.body !== undefined,
          bodyIsOptional: config?.bodyIsOptional ?? false,
        });
      }
    });

    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: TITLE,
          version: '0.1.0',
          description:
            'Clubs, their members, tasks and shifts. Each club is a tenant: name it in `X-Tenant-Id`. Every refusal is a ' +
            'problem with a `code` to switch on and a `detail` that says what to do; its `type` leads to a page with more, ' +
            'and [/problems](/problems) lists all.',
          contact: { name: 'The operator of this service' },
          license: { name: 'MIT', identifier: 'MIT' },
        },
        servers: [{ url: '/' }],
        tags: [
          { name: 'Clubs', description: 'The tenants, and which of them are yours.' },
          { name: 'Members', description: 'People in a club. You become one with your first request there.' },
          { name: 'Tasks', description: 'Work with five states: Open, Assigned, InProgress, Review, Done.' },
          { name: 'Shifts', description: 'Work at a time, with a number of places to sign up for.' },
          { name: 'Operations', description: 'For whatever watches the process.' },
        ],
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
        complete(('openapiObject' in source ? source.openapiObject : {}) as Document, operations) as object,
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
