import fc, { type Arbitrary } from 'fast-check';

/** The parts of a schema that decide what a valid value is. */
export interface Schema {
  type?: string | string[];
  enum?: string[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  $ref?: string;
}

/** The start of the pattern of a filter by a member; the rest is that of a UUID. */
const MEMBER = /^\^\((me(?:\|none)?)\|/;

/** The lists of the ids in parameters, if not members. */
const LISTS: Record<string, string> = { after: 'events', subjectId: 'tasks' };

/** Mostly the first, which a counterexample is reduced to; once in so many times the other. */
export function mostly<Value>(
  usual: Arbitrary<Value>,
  odd: Arbitrary<Value>,
  times: number,
): Arbitrary<Value> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: times - 1, arbitrary: usual },
    { weight: 1, arbitrary: odd },
  );
}

/** Once in so many times a value, otherwise undefined. */
export function rarely<Value>(value: Arbitrary<Value>, times: number): Arbitrary<Value | undefined> {
  return mostly<Value | undefined>(fc.constant(undefined), value, times);
}

/** An id that no row has. */
const MISSING = '99999999-9999-4999-8999-999999999999';

/**
 * The name of a row of a list, which is replaced by its id when the request is sent: 0 to 5 are rows of the caller's club, 9
 * is one of the other club.
 */
export const idOf = (list: string): Arbitrary<string> =>
  mostly(
    fc.nat(5).map((index) => `${list}-${index}`),
    fc.constantFrom(`${list}-9`, `${list}-0`.toUpperCase(), MISSING),
    10,
  );

/** Names that an object of JavaScript inherits. */
export const INHERITED = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '__defineGetter__',
];

const UUIDS = [
  'urn:uuid:tasks-0', '{tasks-0}', 'tasks-00', ' tasks-0', 'tasks-0\n', MISSING.slice(1), MISSING.replaceAll('-', ''), MISSING.replace('9', 'g'),
  '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'clubs-0', 'me', 'none',
]; // biome-ignore format: a list

const TIMES = [
  '2031-02-29T00:00:00Z', '2032-02-29T00:00:00Z', '2100-02-29T00:00:00Z', '2031-04-31T00:00:00Z', '2031-13-01T00:00:00Z', '2031-00-01T00:00:00Z', '2031-01-00T00:00:00Z',
  '2031-05-01T24:00:00Z', '2031-05-01T23:60:00Z', '2031-05-01T23:59:60Z', '2016-12-31T23:59:60Z', '2031-05-01', '2031-05-01T18:00Z', '2031-05-01T18:00:00', '2031-05-01 18:00:00Z',
  '2031-05-01t18:00:00z', '2031-05-01T18:00:00+24:00', '2031-05-01T18:00:00+02', '2031-05-01T18:00:00+0200', '2031-05-01T18:00:00+02:60', '2031-05-01T18:00:00-00:00',
  '2031-05-01T18:00:00,5Z', '2031-05-01T18:00:00.Z', '2031-05-01T18:00:00.1234567890123Z', '1969-12-31T23:59:59Z', '1970-01-01T00:00:00Z', '1970-01-01T00:00:00+00:01', '2199-12-31T23:59:59.999999Z',
  '2199-12-31T23:59:59-00:01', '2200-01-01T00:00:00Z', '0000-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '+12031-05-01T18:00:00Z', '-0001-01-01T00:00:00Z',
  '2031-05-01T18:00:00Z ', ' 2031-05-01T18:00:00Z', '２031-05-01T18:00:00Z', '2031-05-01T18:00:00−02:00', '2031-05-01T18:00:00[Europe/Berlin]', '1777658400', 'tomorrow', 'infinity', 'now',
]; // biome-ignore format: a list

/** Texts that are known to break software. */
export const oddText: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '', ' ', '\0', 'a\0b', '\ud83d', 'a\ud83d', '\udc00', '\u0085', '\u2028', '\ufeff', '\ufffe', '\u202e', '\r\n', '\t', '\x7f', '\x1b[0m',
    "'", "'; drop table app.tasks; --", '{{7*7}}', '%00', '%', '../..', '\\', '\\u0000', '$1', 'null', 'undefined', 'NaN', 'true',
    '-1', '0', '1e400', '99999999999999999999', '0x10', 'infinity', '-infinity', 'now', 'epoch', 'Ⅷ', '٣', '１', 'ﬀ', 'İ', 'a'.repeat(5_000), '😀'.repeat(300),
    ...INHERITED,
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 6 }),
  fc.constantFrom(...TIMES, ...UUIDS),
); // biome-ignore format: texts, not lines

const WORDS = ['Bar', 'a', '%', '_', '\\', "O'Neill", 'Straße', '😀', '家族', 'null', '1', 'İ', '1\u00a02'];

/** A time with an offset and any number of digits. A period from the first half of the month to the second is valid. */
const time = (isEnd: boolean): Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom('2031-05', '1970-02', '2199-11'),
      fc.integer({ min: 2, max: 14 }).map((day) => String(isEnd ? day + 14 : day).padStart(2, '0')),
      fc.constantFrom('18:00:00', '00:00:00.0', '23:59:59.999999999', '12:34:56.123456'),
      fc.constantFrom('Z', 'z', '+00:00', '-00:00', '+02:00', '-11:30', '+23:59'),
    )
    .map(([month, day, clock, zone]) => `${month}-${day}T${clock}${zone}`);

/** Thursdays, so that rules of weekdays are sometimes valid; the last is in a gap of the clocks of some zones. */
const LOCAL_TIMES = ['2031-05-01T10:00', '2031-05-01T12:30:00', '2031-05-01T23:59:59', '2031-03-30T02:30'];

/** A value that the schema allows; `name` is the name of the field or the parameter. */
export function valid(schema: Schema, name = ''): Arbitrary<unknown> {
  const { type, enum: words, format, pattern, items, minimum = 0, maximum = 100, maxLength = 100 } = schema;
  if (Array.isArray(type)) {
    const value = valid({ ...schema, type: type.find((other) => other !== 'null') as string }, name);
    return mostly(value, fc.constant(null), 5);
  }
  if (words !== undefined) {
    return fc.constantFrom(...words);
  }
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties).map(([field, part]) => [field, valid(part, field)]);
    return fc.record(Object.fromEntries(fields), {
      requiredKeys: (schema.required ?? []) as never[],
      noNullPrototype: true,
    });
  }
  if (items?.enum !== undefined) {
    return fc.subarray(items.enum, { minLength: 1 });
  }
  if (items !== undefined) {
    const { minItems: minLength, maxItems: maxLength } = schema;
    return fc.uniqueArray(valid(items), {
      ...(minLength === undefined ? {} : { minLength }),
      ...(maxLength === undefined ? {} : { maxLength }),
    });
  }
  const [, members] = MEMBER.exec(pattern ?? '') ?? [];
  if (members !== undefined) {
    return mostly(idOf('members'), fc.constantFrom(...members.split('|')), 2);
  }
  if (pattern !== undefined) {
    return fc.stringMatching(new RegExp(pattern, 'u'));
  }
  if (type === 'integer') {
    return mostly(fc.constantFrom(minimum, minimum + 1, minimum + 2), fc.integer({ min: minimum, max: maximum }), 4);
  } // biome-ignore format: one thing
  const byFormat: Record<string, Arbitrary<unknown>> = {
    uuid: idOf(LISTS[name] ?? 'members'),
    'date-time': mostly(time(name === 'endsAt'), fc.constantFrom('2031-05-15T12:00:00Z'), 8),
    date: fc.constantFrom('2031-05-01', '1900-01-01', '2199-12-31'),
    'date-time-local': fc.constantFrom(...LOCAL_TIMES),
  };
  const longest = fc
    .constantFrom('b', 'ß', '𝄞', ' a')
    .map((text) => text.repeat(maxLength).slice(-maxLength));
  return byFormat[format ?? ''] ?? mostly(fc.constantFrom(...WORDS), fc.oneof(oddText, longest), 5);
}

/** Not among the texts, because a text with the id of another club's row may be stored and shown. */
const FOREIGN_IDS = ['clubs-9', 'members-9', 'tasks-9', 'events-9'];
const OF_FORMAT: Record<string, Arbitrary<string>> = {
  'date-time': fc.constantFrom(...TIMES),
  date: fc.constantFrom(...TIMES),
  uuid: fc.constantFrom(...FOREIGN_IDS, ...UUIDS),
};

/** A value at or beyond a limit of the schema, or of another type. */
export function odd({ minLength, maxLength, minimum, maximum, ...schema }: Schema): Arbitrary<unknown> {
  const lengths = [minLength, maxLength].flatMap((length = 0) => [length - 1, length, length + 1]);
  const texts = lengths
    .filter((length) => length >= 0)
    .flatMap((length) => ['a', '😀', ' '].map((letter) => letter.repeat(length)));
  const numbers = [minimum, maximum].flatMap((bound = 0) => [bound - 1, bound, bound + 1, bound + 0.5]);
  const words = (schema.enum ?? schema.items?.enum ?? []).flatMap((word) => [
    word.toLowerCase(), word.toUpperCase(), ` ${word}`, `${word},`, `${word},${word}`, word.slice(0, -1), `-${word}`,
  ]); // biome-ignore format: a list
  const others = [null, true, 5, '5', -0, 1e21, '01', '+1', '1.0', ' 1', [], {}, ['a'], { a: 1 }, [[]]];
  const ofType = schema.type === 'integer' ? [...numbers, ...numbers.map(String)] : [...texts, ...words];
  return fc.oneof(
    fc.constantFrom<unknown>(...ofType),
    fc.constantFrom<unknown>(...others),
    OF_FORMAT[MEMBER.test(schema.pattern ?? '') ? 'uuid' : (schema.format ?? '')] ?? oddText,
  );
}
