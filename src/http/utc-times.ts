/** Rewrites the times of a row in place, from the format of PostgreSQL's JSON (`…+00:00`) to that of responses (`…Z`). */
export type UtcTimes = (row: unknown) => void;

interface Schema {
  $ref?: string;
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
}

const NONE: UtcTimes = () => {};

/** The time in the format of responses; the sort key `infinity` is returned unchanged. */
export function toUtc(time: string): string {
  return time.endsWith('+00:00') ? `${time.slice(0, -6)}Z` : time;
}

/**
 * Compiles the rewriting of rows from the response schema of a route. Only the schema says which texts are times: a title
 * may end in `+00:00` too.
 *
 * @param response the response schemas of a route by status; the first success is used
 * @param find returns the schema registered under an id
 */
export function utcTimesOf(response: unknown, find: (id: string) => unknown): UtcTimes {
  const [, success] =
    Object.entries((response ?? {}) as Record<string, Schema>).find(([status]) => status < '300') ?? [];
  const schema = resolve(success ?? {}, find);
  return compile(schema.items ?? schema, find) ?? NONE;
}

function compile(unresolved: Schema, find: (id: string) => unknown): UtcTimes | undefined {
  const { properties = {}, items } = resolve(unresolved, find);
  const each = items && compile(items, find);
  if (each !== undefined) {
    return (rows) => (rows as unknown[]).forEach(each);
  }
  const times = Object.keys(properties).filter((name) => properties[name]?.format === 'date-time');
  const nested = Object.entries(properties).flatMap(([name, property]) => {
    const rewrite = compile(property, find);
    return rewrite === undefined ? [] : [{ name, rewrite }];
  });
  if (times.length + nested.length === 0) {
    return undefined;
  }
  return (row) => {
    const fields = row as Record<string, unknown>;
    for (const name of times) {
      const time = fields[name];
      if (typeof time === 'string') {
        fields[name] = toUtc(time);
      }
    }
    for (const { name, rewrite } of nested) {
      if (fields[name] !== null && fields[name] !== undefined) {
        rewrite(fields[name]);
      }
    }
  };
}

function resolve(schema: Schema, find: (id: string) => unknown): Schema {
  return schema.$ref === undefined ? schema : (find(schema.$ref) as Schema);
}
