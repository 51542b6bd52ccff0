/** Errors of requests that cannot be parsed, validated or routed. */
import { TASK_ID } from '../examples.js';
import { defineError, type Members } from './problem.js';

/** A place that may appear in `detail`. Any other text of the caller appears only in `errors`, as escaped JSON. */
const PLAIN_PLACE = /^[\w./~[\]-]{1,64}$/;

/** The place and detail of a single field error; the given text for several. */
function detailOf(several: string) {
  return ({ errors = [] }: Members<Record<never, never>>): string => {
    const [error, ...others] = errors;
    if (error === undefined || others.length > 0) {
      return several;
    }
    const place = 'pointer' in error ? error.pointer : 'parameter' in error ? error.parameter : error.header;
    return PLAIN_PLACE.test(place) ? `\`${place}\`: ${error.detail}` : error.detail;
  };
}

export const malformedJson = defineError({
  code: 'malformed_json',
  status: 400,
  title: 'Malformed JSON',
  detail: 'The body is not valid JSON in UTF-8. Check quotes, commas and brackets.',
  meaning: 'The body could not be parsed as JSON.',
  fix:
    'Write the body with a JSON library, in UTF-8. In a body written by hand, look for single quotes, a comma after the ' +
    'last member, and comments: JSON does not allow them.',
  example: { request: 'POST /api/tasks' },
});

export const validationFailed = defineError({
  code: 'validation_failed',
  status: 400,
  title: 'Validation failed',
  detail: detailOf('The body does not have the expected form. `errors` lists each invalid field.'),
  meaning:
    'The body is valid JSON, but does not fit the schema of this operation, or the values that the row keeps. `errors` lists every field ' +
    'that does not.',
  fix:
    'Correct each item of `errors`: `pointer` is a JSON Pointer (RFC 6901) to the place, `code` is the kind of the error, ' +
    'and `detail` says what is expected there. For a missing or unknown field, `pointer` is the path of that field. ' +
    'Field names are in camelCase, and values have their JSON type: `"5"` is not a number.',
  example: {
    request: 'POST /api/tasks',
    members: {
      errors: [
        {
          pointer: '/descripton',
          code: 'unknown',
          detail: 'Unknown field. Did you mean `description`?',
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
  detail: detailOf('The path or the query string is not as expected. `errors` lists each invalid parameter.'),
  meaning:
    'A parameter in the path or the query string is unknown, was sent twice, or has an invalid value; or the message is ' +
    'not valid HTTP.',
  fix:
    'Correct each item of `errors`: `parameter` (or `header`) is the place, and `detail` says what is expected there. ' +
    'Send each parameter once, as percent-encoded UTF-8.',
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
    'The cursor belongs to another list, order, filter or club. Start again without a cursor, and follow the Link header.',
  meaning:
    'A cursor is a position in one list of one club, with one set of filters and one `sort`. This cursor belongs to ' +
    'another list, or was altered.',
  fix:
    'Use the complete URL from the `Link` header of the previous page; only `limit` may differ. To change a filter or the ' +
    'order, start again without `cursor`.',
  example: { request: 'GET /api/tasks?cursor=WyJ0YXNrcyJd' },
});

export const requestTimeout = defineError({
  code: 'request_timeout',
  status: 408,
  title: 'Request timeout',
  detail: 'The request took too long to arrive. Send it again without a pause.',
  meaning:
    'The headers did not arrive within 15 seconds, or the complete request did not arrive within 30 seconds; the service ' +
    'checks this every five seconds. The connection is closed.',
  fix: 'Send the request again on a new connection, with headers and body together.',
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
  detail: 'There is nothing at this path. /docs shows every path.',
  meaning: 'The service does not have this path, for any method.',
  fix:
    'Compare the path with those in `/openapi.json`. Paths are case-sensitive, contain no version and do not end with a ' +
    'slash.',
  example: { request: 'GET /api/v1/tasks' },
});

export const methodNotAllowed = defineError({
  code: 'method_not_allowed',
  status: 405,
  title: 'Method not allowed',
  detail: 'This path does not have that method. The header Allow lists the methods of this path.',
  meaning: 'The path exists, but not with this method.',
  fix: 'Use a method in the header `Allow` of the response. A task is changed with PATCH, a shift with PUT.',
  example: { request: `PUT /api/tasks/${TASK_ID}` },
});

export const payloadTooLarge = defineError({
  code: 'payload_too_large',
  status: 413,
  title: 'Payload too large',
  detail: 'The body is larger than 128 KiB. Send a shorter one.',
  meaning: 'A body may have at most 128 KiB. No object of the service needs more; a list of many shifts may.',
  fix:
    'Shorten the body. A description has at most 10,000 characters; link to longer texts instead. Create a long list of shifts ' +
    'in several requests.',
  example: { request: 'POST /api/tasks' },
});

export const unsupportedMediaType = defineError({
  code: 'unsupported_media_type',
  status: 415,
  title: 'Unsupported media type',
  detail: 'Send the body as application/json; a PATCH also as application/merge-patch+json.',
  meaning: 'The header `Content-Type` is missing or is not JSON, or the body is compressed.',
  fix: 'Send `Content-Type: application/json` (for a PATCH also `application/merge-patch+json`) and no `Content-Encoding`.',
  example: { request: 'POST /api/tasks' },
});
