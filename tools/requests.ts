import { FULL_SHIFT_ID, IDA_ID, STARTED_SHIFT_ID } from '../src/examples.js';
import {
  type Document,
  exampleOfBody,
  listsInOrder,
  listsOfIds,
  type Operation,
  type Parameter,
} from './document.js';

const HEAD = `# Every operation of the service, to send from an editor: the REST Client of Visual Studio Code, JetBrains IDEs and
# others read this file. \`make run\` starts a service for it, and \`make token SUB=dora\` prints a token: Dora is Admin, who
# may send every request. Take ids from the responses; the next \`make run\` creates the deleted examples again. For a POST
# that is safe to send again after its response was lost, add the header Idempotency-Key with a new UUID.
# \`make snapshot\` overwrites this file from the OpenAPI document, so keep your changes in a copy.

@baseUrl = http://127.0.0.1:3000
@token = paste-a-token-here
`;

/**
 * Parameters to leave out: a cursor and `after` exist only after a first page, If-Match repeats the version in the body,
 * If-None-Match excludes an earlier response, a fixed Idempotency-Key gets the stored response when the request is sent again, and
 * Club-Cells is for cells.
 */
const LEFT_OUT = ['cursor', 'after', 'If-Match', 'If-None-Match', 'Idempotency-Key', 'Club-Cells'];

/**
 * Writes docs/requests.http: every operation of the document with its example values, and ids as variables at the top.
 * DELETE operations come last; a row is deleted before the rows that it refers to.
 */
export function describeRequests(document: Document): string {
  const { paths } = document;
  const variables = new Map<string, string>();
  const lists = listsOfIds(document);
  const order = listsInOrder(document);
  const placeOf = (path: string) => order.indexOf(path.replace(/\/\{.*/, '')) - 1 / path.length;
  // An id in a body belongs to a row of another list.
  const link = (line: string) =>
    line.replace(/"([\da-f-]{36})"/, (text, id) => {
      const list = lists.get(id);
      if (list === undefined) {
        return text;
      }
      const name = variableOf(list);
      variables.set(name, variables.get(name) ?? id);
      return `"{{${name}}}"`;
    });
  const sections: { deletes: number; text: string }[] = [];
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const lines = [
        `### ${operation.summary} (${operation.operationId})`,
        `${method.toUpperCase()} {{baseUrl}}${fill(path, operation, lists, variables)}${queryOf(operation, variables)}`,
        ...(operation.security?.length === 0 ? [] : ['Authorization: Bearer {{token}}']),
        ...headersOf(operation, variables),
        ...bodyOf(operation, document).map((lines) => lines.split('\n').map(link).join('\n')),
      ];
      sections.push({
        deletes: method === 'delete' ? order.length - placeOf(path) : 0,
        text: `\n${lines.join('\n')}\n`,
      });
    }
  }
  return [
    HEAD,
    ...[...variables].map(([name, value]) => `@${name} = ${value}\n`),
    ...sections.sort((one, other) => one.deletes - other.deletes).map(({ text }) => text),
  ].join('');
}

/** The path with variables for its parameters: `/api/tasks/{id}` becomes `/api/tasks/{{taskId}}`. */
function fill(
  path: string,
  { parameters = [] }: Operation,
  lists: Map<string, string>,
  variables: Map<string, string>,
): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, parameter) => {
    const id = String(parameters.find(({ name }) => name === parameter)?.example);
    const list = lists.get(id) ?? (parameter === 'id' ? path : undefined);
    // Attendance is of a shift that has started, waits are of a full one, signups of one with a free place. Only members without a login
    // are changed.
    const special = {
      [STARTED_SHIFT_ID]: 'startedShiftId',
      [FULL_SHIFT_ID]: 'fullShiftId',
      [IDA_ID]: 'memberWithoutLoginId',
    }[id];
    const name = special ?? (list === undefined ? parameter : variableOf(list));
    // One variable for all requests with this id.
    variables.set(name, variables.get(name) ?? id);
    return `{{${name}}}`;
  });
}

/** The variable with the id of a row, by the path of the row or of its list: `taskId`. */
export function variableOf(path: string): string {
  const noun = path.split('/')[2]?.replace(/s$/, '') ?? '';
  return `${noun.replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase())}Id`;
}

function queryOf({ parameters = [] }: Operation, variables: Map<string, string>): string {
  const pairs = parameters
    .filter((parameter) => parameter.in === 'query' && !LEFT_OUT.includes(parameter.name))
    .map((parameter) => {
      const value = String(exampleOf(parameter));
      if (!parameter.required) {
        return `${parameter.name}=${encodeURIComponent(value)}`;
      }
      variables.set(parameter.name, value);
      return `${parameter.name}={{${parameter.name}}}`;
    });
  // One line per parameter, so that a line can be removed.
  return pairs
    .map((pair, index) => `\n    ${index === 0 ? '?' : '&'}${pair.replaceAll('%2C', ',')}`)
    .join('');
}

function headersOf({ parameters = [] }: Operation, variables: Map<string, string>): string[] {
  return parameters
    .filter((parameter) => parameter.in === 'header' && !LEFT_OUT.includes(parameter.name))
    .map((parameter) => {
      if (parameter.name !== 'X-Tenant-Id') {
        return `${parameter.name}: ${exampleOf(parameter)}`;
      }
      variables.set('clubId', String(parameter.example));
      return 'X-Tenant-Id: {{clubId}}';
    });
}

function bodyOf(operation: Operation, document: Document): string[] {
  const example = exampleOfBody(operation, document);
  return example ? ['Content-Type: application/json', '', JSON.stringify(example, null, 2)] : [];
}

function exampleOf({ example, schema }: Parameter): unknown {
  return example ?? schema.examples?.[0];
}
