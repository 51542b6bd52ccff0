/** Members of a schema that are for people only. */
const ANNOTATIONS = new Set(['description', 'example', 'examples', 'title']);
type Schema = {
  $ref?: string;
  allOf?: Schema[];
  required?: string[];
  properties?: Record<string, Schema>;
} & {
  [member: string]: unknown;
};

interface Content {
  content?: Record<string, { schema: Schema }>;
}

interface Operation {
  parameters?: { in: string; name: string; required: boolean; schema: Schema }[];
  requestBody?: Content & { required?: boolean };
  responses: Record<string, Content & { headers?: Record<string, unknown> }>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** The facts of the OpenAPI document that programs depend on, one per line, so that a review shows changes for clients. */
export function describeApi(document: object): string {
  const { paths, components } = document as Document;
  const lines = [
    ...Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) =>
        factsOfOperation(`${method.toUpperCase()} ${path}`, operation),
      ),
    ),
    ...Object.entries(components.schemas).flatMap(([name, schema]) => factsOfSchema(name, schema)),
  ];
  return `${lines.sort().join('\n')}\n`;
}

function factsOfOperation(name: string, { parameters = [], requestBody, responses }: Operation): string[] {
  return [
    ...parameters.map(
      (parameter) =>
        `${name} ${parameter.in} ${parameter.name} ${presence(parameter.required)} ${print(parameter.schema)}`,
    ),
    ...Object.entries(requestBody?.content ?? {}).map(
      ([type, { schema }]) => `${name} body ${type} ${presence(requestBody?.required)} ${print(schema)}`,
    ),
    ...Object.entries(responses).flatMap(([status, { content = {}, headers = {} }]) => [
      `${name} ${status}`,
      ...Object.keys(headers).map((header) => `${name} ${status} header ${header}`),
      ...Object.entries(content).flatMap(([type, { schema }]) =>
        factsOfAnswer(`${name} ${status} ${type}`, schema),
      ),
    ]),
  ];
}

/** An error response is one fact for each of its codes. */
function factsOfAnswer(name: string, schema: Schema): string[] {
  const codes = schema.allOf?.[1]?.properties?.code?.enum as string[] | undefined;
  return codes?.map((code) => `${name} ${code}`) ?? [`${name} ${print(schema)}`];
}

function factsOfSchema(name: string, { properties = {}, required = [] }: Schema): string[] {
  return Object.entries(properties).map(
    ([property, schema]) => `${name}.${property} ${presence(required.includes(property))} ${print(schema)}`,
  );
}

function presence(required: boolean | undefined): string {
  return required ? 'required' : 'optional';
}

/** The schema as JSON, with members ordered by name, without annotations and the service's own keywords. */
function print(schema: Schema): string {
  return JSON.stringify(schema, (_name, value) =>
    isObject(value)
      ? Object.fromEntries(
          Object.entries(value)
            // A property named `description` has a schema, not a text.
            .filter(
              ([member, held]) => isObject(held) || !(ANNOTATIONS.has(member) || member.startsWith('x-')),
            )
            .sort(([one], [other]) => (one < other ? -1 : 1)),
        )
      : value,
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
