import type { App } from '../../../../src/app.js';

export type Schema = {
  type?: string | string[];
  enum?: string[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  $ref?: string;
  /** The document also has the project's own keywords. */
  'x-text'?: 'line' | 'block';
  'x-period'?: boolean;
};

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: Schema;
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  parameters: Parameter[];
  /** The schema of the body by media type. */
  bodies: Record<string, Schema>;
  bodyIsRequired: boolean;
  /** Whether a token is required. */
  isSecured: boolean;
}

interface Source {
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string;
        parameters?: Parameter[];
        security?: unknown[];
        requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
      }
    >
  >;
  components: { schemas: Record<string, Schema> };
}

/** The requests that the service's document describes. */
export interface Described {
  operations: Operation[];
  schemas: Record<string, Schema>;
  /** Resolves a schema reference. */
  follow(schema: Schema): Schema;
  /** The operations at a path, by its decoded segments; the longer fixed path wins. */
  at(segments: string[]): Operation[];
}

/** Parses the service's document. */
export function describe(app: App): Described {
  const source = app.swagger() as unknown as Source;
  const operations = Object.entries(source.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, entry]) => ({
      id: entry.operationId,
      method: method.toUpperCase(),
      path,
      parameters: entry.parameters ?? [],
      bodies: Object.fromEntries(
        Object.entries(entry.requestBody?.content ?? {}).map(([media, { schema }]) => [media, schema]),
      ),
      bodyIsRequired: entry.requestBody !== undefined && entry.requestBody.required !== false,
      isSecured: entry.security?.length !== 0,
    })),
  );
  const { schemas } = source.components;
  // Fixed segments before parameters: in /api/members/me, me is not an id.
  const paths = Object.keys(source.paths).sort((one, other) => one.indexOf('{') - other.indexOf('{'));
  return {
    operations,
    schemas,
    follow: (schema) => schemas[schema.$ref?.replace('#/components/schemas/', '') ?? ''] ?? schema,
    at: (segments) => {
      const path = paths.find((pattern) => {
        const parts = pattern.split('/');
        return (
          parts.length === segments.length &&
          parts.every((part, index) =>
            part.startsWith('{') ? segments[index] !== '' : part === segments[index],
          )
        );
      });
      return operations.filter((operation) => operation.path === path);
    },
  };
}
