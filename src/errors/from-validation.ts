import type { FastifySchemaValidationError } from 'fastify';
import { didYouMean } from '../validation/closest.js';
import { type FieldError, Problem } from './problem.js';
import { invalidParameter, validationFailed } from './request.js';

/** An error of the validator, with the schema and the value, which are missing in Fastify's type. */
type AjvError = FastifySchemaValidationError & {
  parentSchema?: { properties?: Record<string, unknown>; description?: string; 'x-some-of'?: string[] };
  data?: unknown;
};

/** The maximum number of field errors in a response, which bounds its size for a large body. */
const MAX_ERRORS = 100;

/**
 * The problem for a failed validation: its field errors up to `MAX_ERRORS`.
 *
 * @param part the part of the message that was checked, as Fastify names it
 */
export function problemFromValidation(errors: AjvError[], part: string): Problem {
  const places = new Map<string, FieldError>();
  for (const error of errors) {
    if (places.size === MAX_ERRORS) {
      break;
    }
    const path = pointerOf(error);
    // Only the first error of a field: when the type is wrong, an error of the format adds nothing.
    if (!places.has(path)) {
      places.set(path, { ...locate(path, part), ...describe(error, part) });
    }
  }
  return new Problem(part === 'body' ? validationFailed : invalidParameter, {
    errors: [...places.values()],
  });
}

/** The JSON Pointer (RFC 6901) to an invalid field. For a missing or unknown member it points to the member itself. */
function pointerOf({ instancePath, params }: FastifySchemaValidationError): string {
  const member = params.missingProperty ?? params.additionalProperty;
  return member === undefined ? instancePath : `${instancePath}/${escapePointer(String(member))}`;
}

function escapePointer(member: string): string {
  return member.replaceAll('~', '~0').replaceAll('/', '~1');
}

function locate(path: string, part: string): { pointer: string } | { parameter: string } {
  return part === 'body'
    ? { pointer: path }
    : { parameter: path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~') };
}

function describe(
  { keyword, params, message, parentSchema, data, instancePath }: AjvError,
  part: string,
): { code: string; detail: string } {
  const noun = part === 'body' ? 'field' : 'parameter';
  switch (keyword) {
    case 'required':
      return { code: 'required', detail: `This ${noun} is required.` };
    case 'additionalProperties':
      return {
        code: 'unknown',
        detail:
          `Unknown ${noun}.` +
          didYouMean(params.additionalProperty, Object.keys(parentSchema?.properties ?? {})),
      };
    case 'type':
      if (Array.isArray(data) && parentSchema?.['x-some-of'] !== undefined) {
        const words = parentSchema['x-some-of'].slice(0, 2).join(',');
        return {
          code: 'invalid_type',
          detail: `This must be given once, with commas between its words: ${words}.`,
        };
      }
      if (part === 'body') {
        const what = instancePath === '' ? 'The body' : 'This';
        return { code: 'invalid_type', detail: `${what} must be ${typeNames(params.type)}.` };
      }
      return { code: 'invalid_type', detail: `This must be ${typeNames(params.type)}, given once.` };
    case 'enum': {
      const allowed = words(params.allowedValues);
      const detail =
        allowed.length === 1 && part !== 'body'
          ? `This must be ${allowed}, or absent.`
          : `This must be one of: ${allowed.join(', ')}.${didYouMean(data, allowed)}`;
      return { code: 'invalid_value', detail };
    }
    case 'minLength':
      return {
        code: 'too_short',
        detail: `This needs at least ${count(params.limit, 'character')}, after trimming.`,
      };
    case 'maxLength':
      return {
        code: 'too_long',
        detail: `This may have at most ${count(params.limit, 'character')}, after trimming.`,
      };
    case 'minItems':
      return { code: 'too_few', detail: `This needs at least ${count(params.limit, 'item')}.` };
    case 'maxItems':
      return { code: 'too_many', detail: `This may have at most ${count(params.limit, 'item')}.` };
    case 'uniqueItems':
      return {
        code: 'duplicate',
        detail: `The items ${params.i} and ${params.j}, counted from 0, are equal.`,
      };
    case 'minimum':
      return { code: 'too_small', detail: `This must be at least ${params.limit}.` };
    case 'maximum':
      return { code: 'too_large', detail: `This must be at most ${params.limit}.` };
    case 'format':
      return {
        code: 'invalid_format',
        detail: `This must be ${formatNames[String(params.format)] ?? params.format}.`,
      };
    case 'pattern':
      return {
        code: 'invalid_format',
        detail: `This has the wrong format. ${parentSchema?.description ?? ''}`.trim(),
      };
    default:
      // The project's own keywords have their own message.
      return { code: 'invalid_value', detail: message ?? 'This value is not allowed.' };
  }
}

function count(number: unknown, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function words(allowed: unknown): string[] {
  return [allowed].flat().map(String);
}

const formatNames: Record<string, string> = {
  uuid: 'a UUID',
  date: 'a day of the calendar, such as 2026-05-01, in the years 1900 to 2199',
  'date-time-local': 'a local time without an offset, such as 2026-05-01T18:00, in the years 1970 to 2199',
};

function typeNames(type: unknown): string {
  const names: Record<string, string> = {
    string: 'a string',
    integer: 'an integer',
    boolean: 'true or false',
    array: 'an array',
    object: 'a JSON object',
    null: 'null',
  };
  return [type]
    .flat()
    .map((name) => names[String(name)] ?? String(name))
    .join(' or ');
}
