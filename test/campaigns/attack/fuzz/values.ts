import fc, { type Arbitrary } from 'fast-check';
import type { Described, Schema } from './document.js';
import { ROWS, standIn } from './request.js';

const DAY_MS = 86_400_000;
const FIRST_MS = Date.parse('1970-01-02T00:00:00Z');
const LAST_MS = Date.parse('2199-12-30T00:00:00Z');

/** A time with an offset and any number of digits, mostly of recent years. */
export const time: Arbitrary<string> = fc
  .tuple(
    fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: Date.now() - 30 * DAY_MS, max: Date.now() + 365 * DAY_MS }) },
      { weight: 1, arbitrary: fc.integer({ min: FIRST_MS, max: LAST_MS }) },
    ),
    fc.constantFrom('Z', 'z', '+00:00', '-00:00', '+02:00', '-11:30', '+23:59'),
    fc.constantFrom('', '.0', '.123', '.123456', '.999999999'),
  )
  .map(([ms, zone, fraction]) => `${new Date(ms).toISOString().slice(0, 19)}${fraction}${zone}`);

const WORDS = [
  'Bar',
  'Mow the lawn',
  'a',
  '%',
  '_',
  '\\',
  "O'Neill",
  'Straße',
  '😀',
  '家族',
  'null',
  '1',
  'İ',
];

/** A valid text of at most the maximum length. */
export function text(schema: Schema): Arbitrary<string> {
  const { minLength = 0, maxLength = 50 } = schema;
  const clean = (drawn: string) =>
    drawn.replace(schema['x-text'] === 'block' ? /[^\P{Cc}\n\t]/gu : /\p{Cc}/gu, 'x').trim() || 'x';
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...WORDS) },
    { weight: 2, arbitrary: fc.string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, 40) }).map(clean) },
    { weight: 1, arbitrary: fc.constantFrom('b', 'ß', '𝄞').map((letter) => letter.repeat(Math.min(maxLength, 10_000))) },
  ); // biome-ignore format: a case a line
}

/** The id of a row: mostly of this club, else of the other one or unknown. */
export function id(noun: 'task' | 'shift' | 'member'): Arbitrary<string> {
  return fc.oneof(
    { weight: 12, arbitrary: fc.nat(ROWS[noun] - 1).map((index) => standIn(noun, index)) },
    { weight: 1, arbitrary: fc.nat(ROWS[noun] - 1).map((index) => standIn(noun, index).toUpperCase()) },
    { weight: 1, arbitrary: fc.uuid() },
  );
}

/** A value that the schema allows. */
export function value(described: Described, schema: Schema): Arbitrary<unknown> {
  const {
    type,
    enum: words,
    format,
    pattern,
    items,
    properties,
    minimum = 0,
    maximum = 100,
  } = described.follow(schema);
  if (Array.isArray(type)) {
    const some = value(described, { ...schema, type: type.filter((name) => name !== 'null')[0] as string });
    return fc.oneof({ weight: 4, arbitrary: some }, { weight: 1, arbitrary: fc.constant(null) });
  }
  if (words !== undefined) {
    return fc.constantFrom(...words);
  }
  if (pattern !== undefined) {
    return fc.stringMatching(new RegExp(pattern, 'u'));
  }
  if (properties !== undefined) {
    return object(described, described.follow(schema));
  }
  if (items !== undefined) {
    return fc.subarray(items.enum ?? [], { minLength: 1 });
  }
  if (type === 'integer') {
    // Mostly small: versions and free places are small.
    const small = fc.integer({ min: minimum, max: Math.min(maximum, minimum + 5) });
    return fc.oneof({ weight: 3, arbitrary: small }, { weight: 1, arbitrary: fc.integer({ min: minimum, max: maximum }) });
  } // biome-ignore format: two cases
  const byFormat: Record<string, Arbitrary<unknown>> = {
    uuid: id('member'),
    assignee: fc.oneof(fc.constantFrom('me', 'none'), id('member')),
    'date-time': time,
    date: time.map((text) => text.slice(0, 10)),
  };
  return byFormat[format ?? ''] ?? text(schema);
}

function object(described: Described, schema: Schema): Arbitrary<object> {
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, member]) => [name, value(described, member)] as const,
  );
  const drawn = fc.record(Object.fromEntries(members), {
    requiredKeys: (schema.required ?? []) as never[],
    noNullPrototype: true,
  });
  if (!schema['x-period']) {
    return drawn;
  }
  return fc.tuple(drawn, fc.integer({ min: 1, max: 31 * DAY_MS })).map(([body, ms]) => {
    const { startsAt } = body as { startsAt: string };
    const start = Date.parse(`${startsAt.slice(0, 19)}Z`);
    // The same offset and whole seconds, so that it is certainly later.
    const zone = /(z|[+-]\d\d:\d\d)$/i.exec(startsAt)?.[0];
    const written = (at: number, digits: string) =>
      `${new Date(at).toISOString().slice(0, 19)}${digits}${zone}`;
    return {
      ...body,
      startsAt: written(start, ''),
      endsAt: written(start + ms, ms % 1_000 === 0 ? '' : '.000001'),
    };
  });
}
