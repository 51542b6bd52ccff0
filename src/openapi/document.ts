import { type Code, codes } from '../problems/codes.js';
import { Problem } from '../problems/problem.js';
import {
  type Header,
  type Parameter,
  problemSchema,
  requestHeaders,
  responseHeaders,
  type Schema,
} from './components.js';
import { codesOf, type Operation } from './operation.js';

const EXAMPLE_ID = '3f2c8a52-6a0e-4c1a-9a61-0d5f8f6e7b10';

interface Response {
  description: string;
  headers?: Record<string, Header>;
  content?: Record<string, unknown>;
}

interface DocumentedOperation {
  requestBody?: { required?: boolean; content: Record<string, unknown> };
  parameters?: Parameter[];
  responses?: Record<string, Response>;
}

/** The parts of an OpenAPI 3.1 document that are completed here. */
export interface Document {
  paths?: Record<string, Record<string, DocumentedOperation>>;
  components?: { schemas?: Record<string, Schema> };
}

const successes: Record<string, string> = { 200: 'Done.', 201: 'Made.', 204: 'Gone.' };

/** Adds to the document what the route schemas do not hold: headers, and every refusal with an example. */
export function complete(document: Document, operations: Operation[]): Document {
  document.components = {
    ...document.components,
    schemas: { ...document.components?.schemas, Problem: problemSchema },
  };
  for (const operation of operations) {
    const path = operation.url.replaceAll(/:(\w+)/g, '{$1}');
    const entry = document.paths?.[path]?.[operation.method.toLowerCase()];
    if (entry !== undefined) {
      completeOperation(entry, operation, path);
    }
  }
  return document;
}

function completeOperation(entry: DocumentedOperation, operation: Operation, path: string): void {
  const names = [
    ...(operation.hasTenant ? ['X-Tenant-Id'] : []),
    ...(operation.hasTestUser ? ['X-Test-UserId'] : []),
    ...operation.reads,
  ];
  entry.parameters = [
    ...(entry.parameters ?? []).map(readable),
    ...names.map((name) => requestHeaders[name] as Parameter),
  ];

  const responses = entry.responses ?? {};
  for (const [status, response] of Object.entries(responses)) {
    response.description = successes[status] ?? response.description;
    response.headers = headers(['X-Request-Id', ...operation.sends]);
    if (status === '204') {
      delete response.content;
    }
  }
  if (operation.method === 'PATCH' && entry.requestBody !== undefined) {
    const { content } = entry.requestBody;
    content['application/merge-patch+json'] = content['application/json'];
  }
  if (operation.bodyIsOptional && entry.requestBody !== undefined) {
    entry.requestBody.required = false;
  }
  const refusals = codesOf(operation);
  for (const status of new Set(refusals.map((code) => codes[code][0]))) {
    const group = refusals.filter((code) => codes[code][0] === status);
    responses[status] = refusal(status, group, path);
  }
  entry.responses = responses;
}

/** A list with commas between is text to the validator and an array to everybody else. */
function readable(parameter: Parameter): Parameter {
  const { 'x-some-of': words, ...schema } = parameter.schema;
  return words === undefined
    ? parameter
    : {
        ...parameter,
        style: 'form',
        explode: false,
        schema: { ...schema, type: 'array', items: { type: 'string', enum: words } },
      };
}

function refusal(status: number, group: Code[], path: string): Response {
  const extra: Record<number, string[]> = { 401: ['WWW-Authenticate'], 503: ['Retry-After'] };
  return {
    description: group.map((code) => `\`${code}\``).join(', '),
    headers: headers(['X-Request-Id', ...(extra[status] ?? [])]),
    content: {
      'application/problem+json': {
        schema: {
          allOf: [{ $ref: '#/components/schemas/Problem' }, { properties: { code: { enum: group } } }],
        },
        examples: Object.fromEntries(
          group.map((code) => [
            code,
            {
              summary: codes[code][1],
              value: new Problem(code).toBody(path.replace('{id}', EXAMPLE_ID), EXAMPLE_ID),
            },
          ]),
        ),
      },
    },
  };
}

function headers(names: string[]): Record<string, Header> {
  return Object.fromEntries(names.map((name) => [name, responseHeaders[name] as Header]));
}
