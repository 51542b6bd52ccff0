import openapiTypescript, { astToString } from 'openapi-typescript';
import type { Document, Operation } from './document.js';

const HEAD = `// Generated from the OpenAPI document by make snapshot; make verify fails when it is stale.

`;

const EXAMPLES = ['example', 'examples'];
const WANTED = ['components', 'operations'];

/** Writes client/src/generated/document.ts: the types of the OpenAPI document. */
export async function describeTypes(document: Document): Promise<string> {
  const copy = structuredClone(document);
  for (const operation of operationsOf(copy)) {
    // Every error has the type Problem, with all codes; the client handles headers itself.
    const successes = Object.entries(operation.responses).filter(([status]) => Number(status) < 300);
    operation.responses = Object.fromEntries(
      successes.map(([status, response]) => [status, { ...(response as object), headers: undefined }]),
    );
    operation.parameters = (operation.parameters ?? []).filter((parameter) => parameter.in !== 'header');
  }
  // Examples would triple the length, and paths repeat the operations.
  const bare = JSON.parse(
    JSON.stringify(copy, (name, value) => (EXAMPLES.includes(name) ? undefined : value)),
  );
  const nodes = await openapiTypescript(bare, { silent: true });
  return HEAD + astToString(nodes.filter((node) => WANTED.includes(nameOf(node))));
}

/** Writes client/src/generated/operations.ts: what the client needs of each operation at run time. */
export function describeOperations({ paths }: Document): string {
  const lines = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, security, parameters = [] }]) => {
      const takes = (name: string) => parameters.some((one) => one.in === 'header' && one.name === name);
      const facts = [
        `method: '${method.toUpperCase()}', path: '${path}'`,
        `needsToken: ${security?.length !== 0}`,
        `needsClub: ${takes('X-Tenant-Id')}`,
        `takesKey: ${takes('Idempotency-Key')}`,
      ];
      return `  ${operationId}: { ${facts.join(', ')} },\n`;
    }),
  );
  return `${HEAD}export const routes = {\n${lines.join('')}} as const;\n`;
}

/**
 * Writes client/src/generated/resources.ts: the exports of each resource, from the file with its name.
 *
 * @param files the files of client/src
 * @throws Error when the client has no file for a resource
 */
export function describeResources({ tags }: Document, files: string[]): string {
  // The tag Operations (health checks) is not a resource.
  const names = tags.map(({ name }) => name).filter((name) => name !== 'Operations');
  const lines = names.map((name) => {
    // `Boat repairs` are BoatRepairs, client.boatRepairs and boat-repairs.ts.
    const type = name.replaceAll(/(?:^| )(\w)/g, (_, letter) => letter.toUpperCase());
    const property = type.charAt(0).toLowerCase() + type.slice(1);
    const file = name.toLowerCase().replaceAll(' ', '-');
    if (!files.includes(`${file}.ts`)) {
      throw new Error(
        `The client needs the file client/src/${file}.ts with ${type} and ${property}Of. Write it like members.ts.`,
      );
    }
    return `export { type ${type}, ${property}Of as ${property} } from '../${file}.js';\n`;
  });
  return HEAD + lines.join('');
}

/** The name of a declaration. */
function nameOf(node: object): string {
  return String((node as { name?: { text?: string } }).name?.text);
}

function operationsOf({ paths }: Document): Operation[] {
  return Object.values(paths).flatMap((methods) => Object.values(methods));
}
