import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Described, Operation, Parameter, Schema } from './document.js';
import { bytesOf, type FuzzRequest, standIn, tokenOf } from './request.js';
import { formats, instant, isKey, periodFault, textFault } from './rules.js';

/** The result of a request by the document and by the rules that it cannot express. */
export interface Verdict {
  /** Undefined when the path does not exist, or not with that method. */
  operation: Operation | undefined;
  /** All methods at the path. */
  methods: string[];
  /** Its faults; none when it is valid. */
  faults: string[];
  /** Why the validity is undefined: then only the answer is checked against the document. */
  unsaid: string | undefined;
  /** Whether the caller is an Admin of the club, so that only the message can cause a 400. */
  isAdmin: boolean;
}

const LIMIT_BYTES = 128 * 1024;

/** Builds the oracle from the document. */
export function oracle(described: Described): (request: FuzzRequest) => Verdict {
  const ajv = new Ajv2020({ strict: false, formats });
  ajv.addKeyword({ keyword: 'x-text', validate: (kind: 'line' | 'block', text: unknown) => typeof text !== 'string' || textFault(text, kind) === null }); // biome-ignore format: a keyword
  ajv.addKeyword({ keyword: 'x-period', validate: (_on: true, data: object) => periodFault(data as Record<string, unknown>) === null }); // biome-ignore format: a keyword
  const validators = new Map<Schema, ValidateFunction>();
  const validate = (schema: Schema, value: unknown): boolean => {
    const validator = validators.get(schema) ?? ajv.compile(described.follow(schema));
    validators.set(schema, validator);
    return validator(value) as boolean;
  };

  return (request) => {
    const [path = '', query] = split(request.url);
    const segments = decoded(path);
    const found = segments === null ? [] : described.at(segments);
    const verb = request.method === 'HEAD' ? 'GET' : request.method;
    const operation = found.find(({ method }) => method === verb);
    const methods = found.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).sort();
    const isAdmin = operation !== undefined && asksAsAdmin(operation, request.headers);
    if (operation === undefined || segments === null) {
      return { operation, methods, faults: [], unsaid: undefined, isAdmin };
    }
    const names = operation.path.split('/');
    const faults = [
      ...operation.parameters
        .filter((parameter) => parameter.in === 'path')
        .filter(({ name, schema }) => !validate(schema, segments[names.indexOf(`{${name}}`)]))
        .map(({ name }) => `path ${name}`),
      ...queryFaults(operation.parameters, query, validate),
      ...keyFaults(operation.parameters, request.headers['idempotency-key']),
      ...bodyFaults(operation, request, (schema, value) =>
        validate(schema, trimmed(described.follow(schema), value)),
      ),
    ];
    return { operation, methods, faults, unsaid: unsaid(operation, request), isAdmin };
  };
}

function split(url: string): [string, string | undefined] {
  const at = url.indexOf('?');
  return at < 0 ? [url, undefined] : [url.slice(0, at), url.slice(at + 1)];
}

function decoded(path: string): string[] | null {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    return null;
  }
}

function asksAsAdmin({ isSecured, parameters }: Operation, headers: Record<string, string>): boolean {
  const isIn = headers['x-tenant-id']?.toLowerCase() === standIn('club', 0);
  const member = headers['x-test-userid'];
  return (
    !isSecured ||
    (headers.authorization === `Bearer ${tokenOf('Admin')}` &&
      (isIn || !parameters.some(({ name }) => name === 'X-Tenant-Id')) &&
      (member === undefined || formats.uuid?.(member) === true))
  );
}

/** Unknown and repeated parameters are refused: OpenAPI cannot express that. */
function queryFaults(
  parameters: Parameter[],
  query: string | undefined,
  validate: (schema: Schema, value: unknown) => boolean,
): string[] {
  const faults: string[] = [];
  const given: Record<string, string> = Object.create(null);
  for (const part of (query ?? '').split('&').filter((part) => part !== '')) {
    const at = part.indexOf('=');
    let [name, value] = at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
    try {
      [name, value] = [name, value].map((text) => decodeURIComponent(text.replaceAll('+', ' '))) as [
        string,
        string,
      ];
    } catch {
      faults.push(`query ${name} does not decode`);
      continue;
    }
    const parameter = parameters.find((known) => known.in === 'query' && known.name === name);
    if (parameter === undefined || name in given) {
      faults.push(`query ${name} is ${parameter === undefined ? 'unknown' : 'given twice'}`);
    } else if (!validate(parameter.schema, read(parameter.schema, value))) {
      faults.push(`query ${name}`);
    }
    given[name] = value;
  }
  // The document cannot compare two parameters.
  const [from, to] = [given.from, given.to].map((time) => instant(time ?? ''));
  if (typeof from === 'bigint' && typeof to === 'bigint' && from > to) {
    faults.push('query to is before from');
  }
  return faults;
}

function read(schema: Schema, value: string): unknown {
  if (schema.type === 'integer') {
    return /^[0-9]+$/.test(value) ? Number(value) : value;
  }
  return schema.type === 'array' ? value.split(',') : trimmed(schema, value);
}

/** Trims a text before it is counted. */
function trimmed(schema: Schema, value: unknown): unknown {
  if (typeof value === 'string') {
    return schema['x-text'] === undefined ? value : value.trim();
  }
  if (
    schema.properties === undefined ||
    typeof value !== 'object' ||
    value === null ||
    Array.isArray(value)
  ) {
    return value;
  }
  const { properties } = schema;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      Object.hasOwn(properties, name) ? trimmed(properties[name] as Schema, member) : member,
    ]),
  );
}

function keyFaults(parameters: Parameter[], key: string | undefined): string[] {
  const isRead = parameters.some(({ name }) => name === 'Idempotency-Key');
  return isRead && key !== undefined && !isKey(key) ? ['header Idempotency-Key'] : [];
}

function bodyFaults(
  { bodies, bodyIsRequired }: Operation,
  request: FuzzRequest,
  validate: (schema: Schema, value: unknown) => boolean,
): string[] {
  const bytes = bytesOf(request);
  if (Object.keys(bodies).length === 0) {
    return [];
  }
  if (bytes.length === 0) {
    return bodyIsRequired ? ['no body'] : [];
  }
  // An empty Content-Type counts as none.
  const type = request.headers['content-type']?.trim() || (bodyIsRequired ? '' : 'application/json');
  const schema = bodies[type.split(';')[0]?.trim().toLowerCase() ?? ''];
  const coding = request.headers['content-encoding'] ?? 'identity';
  if (schema === undefined || coding.toLowerCase() !== 'identity') {
    return [`body of the type ${type} ${coding}`];
  }
  if (bytes.length > LIMIT_BYTES) {
    return ['body too large'];
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return validate(schema, JSON.parse(text)) ? [] : ['body'];
  } catch {
    return ['body is no JSON'];
  }
}

function unsaid({ bodies }: Operation, request: FuzzRequest): string | undefined {
  if (Object.keys(bodies).length === 0 && bytesOf(request).length > 0) {
    return 'a body where the document has none';
  }
  if (/;(?! ?charset=utf-8$)/i.test(request.headers['content-type'] ?? '')) {
    return 'parameters of a media type';
  }
  return undefined;
}
