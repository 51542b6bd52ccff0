import type { Catalogue } from '../errors/catalogue.js';
import type { ErrorType } from '../errors/problem.js';
import {
  type Exchange,
  type Header,
  type Parameter,
  problemSchema,
  requestHeaders,
  responseHeaders,
  type Schema,
} from './components.js';
import { describeErrors, exampleOfError } from './error-examples.js';
import { errorsOf, type Operation } from './operation.js';

interface Response {
  description: string;
  headers?: Record<string, Header>;
  content?: Record<string, { schema: Schema; [member: string]: unknown }>;
}

interface DocumentedOperation {
  description?: string;
  requestBody?: { description?: string; required?: boolean; content: Record<string, unknown> };
  parameters?: Parameter[];
  responses?: Record<string, Response>;
}

/** The parts of an OpenAPI 3.1 document that `complete` changes. */
export interface Document {
  paths?: Record<string, Record<string, DocumentedOperation>>;
  components?: { schemas?: Record<string, Schema> };
}

const RATE_LIMIT = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

/** The descriptions of responses by status, otherwise of successes by method; ACTION is a POST that creates nothing. */
const descriptions: Record<string, string> = {
  304: 'If-None-Match has the current ETag. There is no body.',
  GET: 'Success.',
  POST: 'Created; the header Location has its path.',
  ACTION: 'Done; the body is the result.',
  PUT: 'Replaced, if it differs from the current state; the body is the new state.',
  PATCH: 'Changed, if the patch differs from the current state; the body is the new state.',
  DELETE: 'Deleted. There is no body.',
};

/** The descriptions of request bodies, likewise. */
const bodies: Record<string, string> = {
  POST: 'The object to create.',
  ACTION: 'What to do.',
  PUT: 'The complete new state.',
  PATCH: 'The fields to change.',
};

/**
 * Adds to the document what the route schemas do not contain: headers, every error with an example, and the example of the
 * DTO for each success.
 */
export function complete(document: Document, operations: Operation[], catalogue: Catalogue): Document {
  document.components = {
    ...document.components,
    schemas: { ...document.components?.schemas, Problem: problemSchema(catalogue) },
  };
  for (const operation of operations) {
    const path = operation.url.replaceAll(/:(\w+)/g, '{$1}');
    const entry = document.paths?.[path]?.[operation.method.toLowerCase()];
    if (entry !== undefined) {
      completeOperation(entry, operation, path, document.components.schemas ?? {});
    }
  }
  return document;
}

function completeOperation(
  entry: DocumentedOperation,
  operation: Operation,
  path: string,
  schemas: Record<string, Schema>,
): void {
  const names = [
    ...(operation.hasTenant ? ['X-Tenant-Id'] : []),
    ...(operation.hasTestUser ? ['X-Test-UserId'] : []),
    ...operation.requestHeaders,
  ];
  entry.parameters = [
    ...(entry.parameters ?? []).map((parameter) => readable(parameter, operation)),
    ...names.map((name) => requestHeaders[name] as Parameter),
  ];

  entry.description = `${entry.description ?? ''} ${roleSentence(operation)}`.trim();

  const ids = entry.parameters.filter((parameter) => parameter.in === 'path');
  const url = ids.reduce((all, { name, example }) => all.replace(`{${name}}`, String(example)), path);
  const exchange = { path, url, isList: operation.responseHeaders.includes('Link') };

  const responses = entry.responses ?? {};
  const creates = responses['201'] !== undefined;
  const kind = operation.method === 'POST' && !creates ? 'ACTION' : operation.method;
  for (const [status, response] of Object.entries(responses)) {
    // A PUT can create too.
    const method = status === '201' ? 'POST' : kind;
    response.description =
      descriptions[status] ?? successOf(method, operation, responses) ?? response.description;
    if (['204', '304'].includes(status)) {
      delete response.content;
    }
    const content = response.content?.['application/json'];
    if (content !== undefined) {
      content.example ??= exampleOf(content.schema, creates, schemas, ids);
    }
    const [body] = [content?.example].flat() as Exchange['body'][];
    const names = [
      'X-Request-Id',
      ...operation.responseHeaders.filter((name) => name !== 'Location' || status === '201'),
      ...(operation.isRateLimited ? RATE_LIMIT : []),
    ];
    response.headers = headers(names, { ...exchange, status: Number(status), body });
  }
  if (operation.method === 'DELETE') {
    // The schema rejects fields; there is no body to describe.
    delete entry.requestBody;
  }
  if (entry.requestBody !== undefined) {
    completeBody(entry.requestBody, operation, kind);
  }
  const errors = errorsOf(operation);
  for (const status of new Set(errors.map((type) => type.status))) {
    const group = errors.filter((type) => type.status === status);
    responses[status] = errorResponse(group, operation, { ...exchange, status, body: undefined });
  }
  entry.responses = responses;
}

/** The description of a success. A PUT without fields that creates what does not exist has the rest in its own description. */
function successOf(
  method: string,
  { bodyIsOptional }: Operation,
  responses: Record<string, Response>,
): string | undefined {
  return method === 'PUT' && bodyIsOptional && responses['201'] !== undefined
    ? 'There was one already; the body is the current state.'
    : descriptions[method];
}

function completeBody(
  body: NonNullable<DocumentedOperation['requestBody']>,
  { method, bodyIsOptional }: Operation,
  kind: string,
): void {
  body.description = bodyIsOptional ? 'An empty object, or nothing.' : (bodies[kind] ?? '');
  if (bodyIsOptional) {
    body.required = false;
  }
  if (method === 'PATCH') {
    body.content['application/merge-patch+json'] = body.content['application/json'];
  }
}

/** The sentence about the role that the policy of the route requires. */
function roleSentence({ policy, hasTenant }: Operation): string {
  if (policy === undefined) {
    return 'Needs no token.';
  }
  const role = policy.slice('Require'.length);
  return hasTenant
    ? `Needs the role ${role}${role === 'Admin' ? '' : ' or a higher one'}.`
    : 'Needs a token and no role.';
}

/**
 * The example of a response. A list has all examples of its DTO; a single DTO has the first example when it is read, and the
 * last one when the request creates it: of those that have the ids of the path, if there are any.
 */
function exampleOf(
  schema: Schema,
  isNew: boolean,
  schemas: Record<string, Schema>,
  ids: Parameter[],
): unknown {
  const { $ref } = (schema.items ?? schema) as { $ref: string };
  const { examples } = schemas[$ref.replace('#/components/schemas/', '')] as { examples: object[] };
  const fitting = examples.filter((one) => ids.every(({ example }) => Object.values(one).includes(example)));
  return schema.items !== undefined ? examples : (fitting.length > 0 ? fitting : examples).at(isNew ? -1 : 0);
}

/**
 * Rewrites a parameter for readers of the document. A comma-separated list, which is text for the validator, becomes an
 * array. The example of an optional parameter moves into its schema, because /docs fills the form with other examples.
 *
 * @throws Error when a parameter has no example
 */
function readable(parameter: Parameter, { method, url }: Operation): Parameter {
  const { 'x-some-of': words, ...schema } = parameter.schema;
  const { example, ...rest } = parameter;
  if (rest.required) {
    return parameter;
  }
  if (words !== undefined) {
    const items = { type: 'string', enum: words };
    const examples = [String(example).split(',')];
    return { ...rest, style: 'form', explode: false, schema: { ...schema, type: 'array', items, examples } };
  }
  const [word] = (schema.enum ?? []) as unknown[];
  const value = example ?? schema.default ?? word;
  if (value === undefined) {
    throw new Error(
      `The parameter ${parameter.name} of ${method} ${url} has no example: add \`examples\` to its schema.`,
    );
  }
  return { ...rest, schema: { ...schema, examples: [value] } };
}

function errorResponse(group: ErrorType[], operation: Operation, exchange: Exchange): Response {
  const extra: Record<number, string[]> = {
    401: ['WWW-Authenticate'],
    429: ['Retry-After', ...RATE_LIMIT],
    503: ['Retry-After'],
  };
  return {
    description: describeErrors(group),
    headers: headers(['X-Request-Id', ...(extra[exchange.status] ?? [])], exchange),
    content: {
      'application/problem+json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Problem' },
            { properties: { code: { enum: group.map(({ code }) => code) } } },
          ],
        },
        examples: Object.fromEntries(
          group.map((type) => [type.code, exampleOfError(type, operation, exchange.url)]),
        ),
      },
    },
  };
}

function headers(names: string[], exchange: Exchange): Record<string, Header> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const header = responseHeaders[name];
      return header === undefined ? [] : [[name, { ...header, example: header.example(exchange) }]];
    }),
  );
}
