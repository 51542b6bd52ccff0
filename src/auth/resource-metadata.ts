import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { Problem } from '../errors/problem.js';
import { routeNotFound } from '../errors/request.js';
import { NoQuery } from '../validation/schemas.js';

export interface ResourceMetadataOptions {
  /** The origin of the service; empty when it is unknown. */
  publicUrl: string;
  issuer: string;
}

const PATH = '/.well-known/oauth-protected-resource';

/** Where the metadata of the service is. */
export const metadataUrl = (publicUrl: string): string => `${publicUrl}${PATH}`;

const ResourceMetadata = Type.Object(
  {
    resource: Type.String({ description: 'The service: PUBLIC_URL.' }),
    authorization_servers: Type.Array(Type.String(), { description: 'The issuer of the tokens.' }),
    bearer_methods_supported: Type.Array(Type.String()),
  },
  {
    examples: [
      {
        resource: 'https://clubs.example.org',
        authorization_servers: ['https://id.example.org/'],
        bearer_methods_supported: ['header'],
      },
    ],
  },
);

/**
 * Protected resource metadata (RFC 9728): how a client that knows only the service finds the issuer. The resource is never taken
 * from the header Host, which a client chooses.
 */
export const resourceMetadata: FastifyPluginAsyncTypebox<ResourceMetadataOptions> = async (
  app,
  { publicUrl, issuer },
) => {
  app.get(
    PATH,
    {
      schema: {
        operationId: 'getResourceMetadata',
        tags: ['Operations'],
        summary: 'Find the issuer of the tokens',
        description: 'Protected resource metadata (RFC 9728). Without `PUBLIC_URL` there is no such path.',
        security: [],
        querystring: NoQuery,
        response: { 200: ResourceMetadata },
      },
    },
    async () => {
      if (publicUrl === '') {
        throw new Problem(routeNotFound);
      }
      return {
        resource: publicUrl,
        authorization_servers: [issuer],
        bearer_methods_supported: ['header'],
      };
    },
  );
};
