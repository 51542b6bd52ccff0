import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Database } from '../database/database.js';
import { isDeployed } from '../database/readiness.js';
import { Problem } from '../problems/problem.js';
import { NoQuery } from '../validation/schemas.js';

const Health = (status: string) => Type.Object({ status: Type.String() }, { examples: [{ status }] });

/** For whatever watches the process: no token, no club. */
export const health: FastifyPluginAsyncTypebox<{ database: Database }> = async (app, { database }) => {
  app.get(
    '/livez',
    {
      schema: {
        operationId: 'isAlive',
        tags: ['Operations'],
        summary: 'Whether the process answers',
        security: [],
        querystring: NoQuery,
        response: { 200: Health('live') },
      },
    },
    async () => ({ status: 'live' }),
  );

  app.get(
    '/readyz',
    {
      config: { problems: ['service_unavailable'] },
      schema: {
        operationId: 'isReady',
        tags: ['Operations'],
        summary: 'Whether the database can be reached and is not older than the code',
        security: [],
        querystring: NoQuery,
        response: { 200: Health('ready') },
      },
    },
    async () => {
      if (app.isDraining) {
        throw new Problem('service_unavailable', { detail: 'The process is about to stop.' });
      }
      if (!(await isDeployed(database))) {
        throw new Problem('service_unavailable', {
          detail: 'The database is older than this release. Deploy first: node dist/migrate.js.',
        });
      }
      return { status: 'ready' };
    },
  );
};
