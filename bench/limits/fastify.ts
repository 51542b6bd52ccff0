/**
 * The lower limit of the cost of HTTP: Fastify that serves a page of tasks from memory, serialized by schema. With
 * TOKENS=on it first verifies the token, with the cache of the library. It has no database and no isolation.
 */
import jwt from '@fastify/jwt';
import Fastify from 'fastify';
import { createRemoteJWKSet, exportSPKI, type JWTHeaderParameters } from 'jose';
import { TaskListDto } from '../../src/tasks/schemas.js';

const { AUTH_ISSUER: issuer = '', PORT, TOKENS } = process.env;

const app = Fastify();

if (TOKENS === 'on') {
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  const findKey = async ({ header }: { header: JWTHeaderParameters }) => exportSPKI(await keys(header));
  await app.register(jwt, {
    secret: { public: findKey } as never,
    verify: {
      algorithms: ['ES256'],
      allowedIss: issuer,
      allowedAud: 'club-management-service',
      requiredClaims: ['iss', 'aud', 'exp', 'sub'],
      cache: 10_000,
      cacheTTL: 60_000,
    },
  });
  app.addHook('onRequest', async (request) => {
    const claims = await app.jwt.verify<{ clubs: Record<string, string> }>(
      request.headers.authorization?.slice('Bearer '.length) ?? '',
    );
    if (claims.clubs[request.headers['x-tenant-id'] as string] === undefined) {
      throw Object.assign(new Error('not your club'), { statusCode: 403 });
    }
  });
}

const rows = Array.from({ length: 20 }, (_, number) => ({
  id: `019d4d0b-9d20-7082-8524-5668${String(number).padStart(8, '0')}`,
  title: '',
  state: 'Assigned' as const,
  assigneeId: '019d4d0b-9d20-7082-8524-56680d21b90d',
  assigneeName: 'Caller 1',
  dueAt: number % 2 === 0 ? null : '2031-05-01T16:00:00.123456Z',
  createdAt: '2026-04-02T07:15:00.123456Z',
  updatedAt: '2026-04-02T07:15:00.123456Z',
  version: 1,
}));

app.addSchema(TaskListDto);
app.get(
  '/api/tasks',
  { schema: { response: { 200: { type: 'array', items: { $ref: 'TaskListDto#' } } } } },
  async (request) => {
    const mark = String(request.headers['x-tenant-id']).slice(-12);
    return rows.map((row, number) => ({ ...row, title: `Task ${number} of ${mark}` }));
  },
);

await app.listen({ host: '127.0.0.1', port: Number(PORT) });
