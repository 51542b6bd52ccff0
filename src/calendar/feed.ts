import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Json } from '../database/json.js';
import type { Query } from '../database/sql.js';
import { Problem } from '../errors/problem.js';
import { serviceUnavailable } from '../errors/server.js';
import { SIGNED_UP_SHIFT_ID } from '../examples.js';
import type { SecretPaths } from '../http/target.js';
import { isKnown, NotModified, textTagOf } from '../resource/conditional.js';
import { foundRow } from '../resource/rows.js';
import { isUuid } from '../validation/uuid.js';
import { calendarNotFound } from './errors.js';
import { writeCalendar } from './icalendar.js';
import { type Calendar, findCalendar } from './queries.js';
import { CalendarParams } from './schemas.js';
import { hashOf, isSecret } from './secret.js';

export interface CalendarFeedOptions {
  /** Reads a row for a calendar of a club. @throws what `Database.read` throws */
  read: <Row>(query: Query<Row>, clubId: string) => Promise<Json<Row>[]>;
}

/** The paths of links: the secret is their last part. Every wrong link has the same response. */
export const linkPaths: SecretPaths = {
  prefix: '/calendars/',
  shownAs: '/calendars',
  notFound: calendarNotFound,
};

/** How long a calendar program may use a response, in seconds. */
const MAX_AGE_S = 900;

const LINK_CREATED_AT = '2026-04-02T07:15:00Z';
const EXAMPLE: Calendar = {
  linkId: '019d4d1c-2620-7a55-b4f4-6f0c1ce95d48',
  createdAt: LINK_CREATED_AT,
  expiresAt: '2027-05-07T07:15:00Z',
  expiresOn: '2027-05-07',
  clubName: 'Rowing Club North',
  shifts: [
    {
      id: SIGNED_UP_SHIFT_ID,
      title: 'Regatta catering',
      location: null,
      description: null,
      startsAt: '2031-05-08T06:00:00Z',
      endsAt: '2031-05-08T12:30:00Z',
      updatedAt: '2026-04-03T11:00:00Z',
      version: 2,
    },
  ],
};

/** What calendar programs read: it needs no token, because the secret in its path is the credential. */
export const calendarFeed: FastifyPluginAsyncTypebox<CalendarFeedOptions> = async (app, { read }) => {
  const example = await writeCalendar(EXAMPLE, Date.parse(LINK_CREATED_AT));

  app.get(
    '/calendars/:clubId/:secret.ics',
    {
      config: { checksParameters: true },
      // A wrong link is a 404, not an invalid parameter.
      validatorCompiler: () => () => true,
      schema: {
        operationId: 'readCalendar',
        tags: ['Calendar'],
        summary: 'Read a calendar',
        description:
          'The shifts that the member of the link is signed up for and that ended at most 90 days ago, as iCalendar (RFC 5545): at most ' +
          '1,000, with the first 1,000 characters of each description. It asks calendar programs to read it again every hour. A query is ' +
          'ignored.',
        security: [],
        isRateLimited: true,
        params: CalendarParams,
        errors: [calendarNotFound, serviceUnavailable],
        requestHeaders: ['If-None-Match'],
        responseHeaders: ['ETag'],
        response: {
          200: { content: { 'text/calendar': { schema: Type.String(), example } } },
          304: NotModified,
        },
      },
    },
    async (request, reply) => {
      const { clubId, secret } = request.params;
      const rows =
        isUuid(clubId) && isSecret(secret) ? await read(findCalendar(clubId, hashOf(secret)), clubId) : [];
      const body = await writeCalendar(foundRow(rows, calendarNotFound).parse());
      const etag = textTagOf(body);
      reply.headers({
        etag,
        'cache-control': `private, max-age=${MAX_AGE_S}`,
        // Without it a browser saves the file under the secret.
        'content-disposition': 'inline; filename="shifts.ics"',
      });
      return isKnown(request.headers, etag)
        ? reply.code(304).send()
        : reply.type('text/calendar; charset=utf-8').send(body);
    },
  );

  app.get('/calendars/*', { config: { checksParameters: true }, schema: { hide: true } }, async () => {
    throw new Problem(calendarNotFound);
  });
};
