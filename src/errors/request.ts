/** Requests that cannot be read, or lead nowhere: nothing of a club has been looked at. */
import { TASK_ID } from '../examples.js';
import { defineError, type Members } from './problem.js';

/** A place that can appear in a sentence; anything else that a caller wrote is only in `errors`, where it is escaped. */
const PLAIN_PLACE = /^[\w./~[\]-]{1,64}$/;

/** The sentence about faults: of a single one what to do about it, of several that there are some. */
function sayFaults(several: string) {
  return ({ errors = [] }: Members<Record<never, never>>): string => {
    const [fault, ...others] = errors;
    if (fault === undefined || others.length > 0) {
      return several;
    }
    const place = 'pointer' in fault ? fault.pointer : 'parameter' in fault ? fault.parameter : fault.header;
    return PLAIN_PLACE.test(place) ? `\`${place}\`: ${fault.detail}` : fault.detail;
  };
}

export const malformedJson = defineError({
  code: 'malformed_json',
  status: 400,
  title: 'Malformed JSON',
  detail: 'The body is not valid JSON in UTF-8. Check quotes, commas and brackets.',
  meaning: 'The body could not be read as JSON, so nothing in it was looked at.',
  fix:
    'Let a JSON library write the body, in UTF-8. By hand, look for single quotes, a comma behind the last member, ' +
    'and comments: JSON has none of them.',
  example: { request: 'POST /api/tasks' },
});

export const validationFailed = defineError({
  code: 'validation_failed',
  status: 400,
  title: 'Validation failed',
  detail: sayFaults('The body does not have the expected form. `errors` names each fault.'),
  meaning: 'The body is JSON, but not what this operation takes. `errors` names every fault at once.',
  fix:
    'Go through `errors`: `pointer` is a JSON Pointer (RFC 6901) to the place, `code` says what kind of fault it is, ' +
    'and `detail` what is expected there. A field that is missing or unknown is pointed at itself. Fields are in ' +
    'camelCase, and values have their JSON type: `"5"` is no number.',
  example: {
    request: 'POST /api/tasks',
    members: {
      errors: [
        {
          pointer: '/descripton',
          code: 'unknown',
          detail: 'There is no such field here. Did you mean `description`?',
        },
        {
          pointer: '/title',
          code: 'too_short',
          detail: 'This needs at least 1 character, after trimming.',
        },
      ],
    },
  },
});

export const invalidParameter = defineError({
  code: 'invalid_parameter',
  status: 400,
  title: 'Invalid parameter',
  detail: sayFaults('The path or the query string is not as expected. `errors` names each fault.'),
  meaning:
    'A parameter in the path or the query string is unknown, was given twice, or has a value that it cannot have; ' +
    'or the message itself is no proper HTTP.',
  fix:
    'Go through `errors`: `parameter` (or `header`) names the place, and `detail` says what is expected there. ' +
    'Parameters are percent-encoded UTF-8, each given once.',
  example: {
    request: 'GET /api/tasks?limit=1000',
    members: {
      errors: [{ parameter: 'limit', code: 'too_large', detail: 'This must be at most 500.' }],
    },
  },
});

export const invalidCursor = defineError({
  code: 'invalid_cursor',
  status: 400,
  title: 'Invalid cursor',
  detail:
    'The cursor belongs to another list, order, filter or club. Start again without one, and follow the Link header.',
  meaning:
    'A cursor marks a place in one list, of one club, with its filters and its `sort`. This one was made elsewhere, ' +
    'or was altered.',
  fix:
    'Take the whole URL from the `Link` header of the page before; only `limit` may differ. To change a filter or ' +
    'the order, start again without `cursor`.',
  example: { request: 'GET /api/tasks?cursor=WyJ0YXNrcyJd' },
});

export const requestTimeout = defineError({
  code: 'request_timeout',
  status: 408,
  title: 'Request timeout',
  detail: 'The request took too long to arrive. Send it again, in one go.',
  meaning:
    'The headers did not arrive within 15 seconds, or the whole request not within 30. The connection is closed.',
  fix: 'Send the request again on a new connection, head and body together.',
  example: { request: 'POST /api/tasks' },
});

export const headersTooLarge = defineError({
  code: 'headers_too_large',
  status: 431,
  title: 'Headers too large',
  detail: 'The request line and the headers are larger than 16 KiB together. Send fewer or shorter ones.',
  meaning: 'The request line and the headers may have 16 KiB together. The connection is closed.',
  fix: 'Send fewer cookies and headers, a shorter token, or a shorter query string.',
  example: { request: 'GET /api/tasks' },
});

export const routeNotFound = defineError({
  code: 'route_not_found',
  status: 404,
  title: 'Route not found',
  detail: 'There is nothing at this path. /docs shows every path there is.',
  meaning: 'The service has no such path, for whatever method.',
  fix:
    'Compare the path with those of `/openapi.json`. Paths are case-sensitive, carry no version and end without a ' +
    'slash.',
  example: { request: 'GET /api/v1/tasks' },
});

export const methodNotAllowed = defineError({
  code: 'method_not_allowed',
  status: 405,
  title: 'Method not allowed',
  detail: 'This path does not have that method. The header Allow lists those it has.',
  meaning: 'The path exists, but not with this method.',
  fix: 'Take a method from the header `Allow` of the answer. A task is changed by PATCH, a shift by PUT.',
  example: { request: `PUT /api/tasks/${TASK_ID}` },
});

export const payloadTooLarge = defineError({
  code: 'payload_too_large',
  status: 413,
  title: 'Payload too large',
  detail: 'The body is larger than 128 KiB.',
  meaning: 'No body may have more than 128 KiB, and nothing that the service stores needs as much.',
  fix: 'Shorten the body. A description has at most 10,000 characters; longer texts belong behind a link.',
  example: { request: 'POST /api/tasks' },
});

export const unsupportedMediaType = defineError({
  code: 'unsupported_media_type',
  status: 415,
  title: 'Unsupported media type',
  detail: 'Send the body as application/json; a PATCH also as application/merge-patch+json.',
  meaning:
    'The header `Content-Type` is missing or names another format than JSON, or the body is compressed.',
  fix:
    'Send `Content-Type: application/json` (for a PATCH `application/merge-patch+json` will do as well), and no ' +
    '`Content-Encoding`.',
  example: { request: 'POST /api/tasks' },
});
