import { appendFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { App } from '../../src/app.js';
import type { Response } from './send.js';

interface DocumentedResponse {
  headers?: Record<string, unknown>;
  content?: Record<string, { schema: object; examples?: Record<string, unknown> }>;
}

/**
 * The file of the documented responses (`=`) and of those that tests produced (`+`), one per line: at the end of
 * the whole suite, a documented response that no test produced is a failure.
 */
const ANSWERS = process.env.TEST_ANSWERS;

const noted = new Set<string>();

function note(sign: '=' | '+', name: string): void {
  const line = `${sign} ${name}\n`;
  if (ANSWERS !== undefined && !noted.has(line)) {
    noted.add(line);
    appendFileSync(ANSWERS, line);
  }
}

/** Errors of no operation: the path does not exist, or not with that method. */
const OUTSIDE = ['route_not_found', 'method_not_allowed'];

/** Documented headers that are optional in a response. */
const OCCASIONAL = ['Link', 'Idempotent-Replayed', 'Club-Cells-Missing'];

/** The exact form of each documented format in responses; times are in UTC. */
const formats = {
  uuid: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/,
  date: /^\d{4}-\d\d-\d\d$/,
  'uri-reference': true as const,
};

interface Document {
  paths: Record<
    string,
    Record<string, { operationId: string; responses: Record<string, DocumentedResponse> }>
  >;
}

/** Throws when a response is not as documented; returns whether the document has an operation for it. */
type Check = (method: string, url: string, answer: Response) => boolean;

/** The checks by document: most services of a process have the same one. */
const checks = new Map<string, Check>();

/**
 * Checks every response against the document: the status is documented for the operation, the body has the documented
 * form and no undocumented property, and the documented headers are present.
 */
export function assertDocumented(app: App): Check {
  const document = app.swagger();
  const text = JSON.stringify(document);
  const check = checks.get(text) ?? checkOf(document as unknown as Document);
  checks.set(text, check);
  return check;
}

function checkOf(document: Document): Check {
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats, validateSchema: false });
  ajv.addSchema(closed(document), 'document');
  const validators = new Map<string, ValidateFunction>();
  for (const { operationId, responses } of Object.values(document.paths).flatMap((path) =>
    Object.values(path),
  )) {
    for (const [status, { content }] of Object.entries(responses)) {
      for (const code of Object.keys(content?.['application/problem+json']?.examples ?? { '': null })) {
        note('=', `${operationId} ${status} ${code}`.trim());
      }
    }
  }

  return (method, url, { status, body, text, headers }) => {
    const [called = ''] = url.split('?');
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
    const known = Object.keys(document.paths).filter(
      (pattern) => document.paths[pattern]?.[verb] !== undefined,
    );
    const path =
      known.find((pattern) => pattern === called) ??
      known.find((pattern) => matches(pattern.split('/'), called.split('/')));
    const operation = path === undefined ? undefined : document.paths[path]?.[verb];
    if (path === undefined || operation === undefined || OUTSIDE.includes(body?.code) || status === 405) {
      return false;
    }
    const response = operation.responses[status];
    const name = `${operation.operationId} ${status} ${body?.code ?? ''}`.trim();
    if (response === undefined) {
      throw new Error(
        `The response ${name} is not in the document: add it to \`errors\` or \`response\` of the route's schema. ` +
          'A 500 can be a constraint without an error in errors.ts.',
      );
    }
    note('+', name);
    const missing = Object.keys(response.headers ?? {}).filter(
      (header) => !OCCASIONAL.includes(header) && headers[header.toLowerCase()] === undefined,
    );
    if (missing.length > 0) {
      throw new Error(
        `The response ${name} lacks the documented ${missing.join(', ')}: ` +
          "send it, or remove it from `responseHeaders` of the route's schema.",
      );
    }
    const media = String(headers['content-type'] ?? '').split(';')[0] ?? '';
    if (method === 'HEAD' || (response.content === undefined && body === undefined)) {
      return true;
    }
    const pointer = ['paths', path, verb, 'responses', String(status), 'content', media, 'schema'];
    const reference = `document#/${pointer.map(pointerPart).join('/')}`;
    const validate = validators.get(reference) ?? ajv.compile({ $ref: reference });
    validators.set(reference, validate);
    if (!validate(media.endsWith('json') ? body : text)) {
      throw new Error(
        `The response ${name} has another form than its DTO: ${ajv.errorsText(validate.errors)}. ` +
          'The query selects exactly the fields of the DTO.',
      );
    }
    return true;
  };
}

function matches(pattern: string[], segments: string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => part.startsWith('{') || part === segments[index])
  );
}

function pointerPart(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** The same document with closed objects: an undocumented property is an error of the service. */
export function closed<Document extends object>(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (_name, part) => {
    if (part?.type === 'object' && part.properties !== undefined) {
      part.additionalProperties ??= false;
    }
    return part;
  });
}
