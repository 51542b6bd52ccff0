/**
 * The building blocks of the DTOs. Each is JSON Schema, so the same text validates a request, shapes an answer
 * and documents both; the keywords that start with `x-` are checked by `compiler.ts`.
 */
import { type Static, type TObject, type TSchema, type TString, Type } from '@sinclair/typebox';
import type { TextKind } from './text.js';

/** An id made by the server. */
export const Id = () => Type.String({ format: 'uuid', examples: ['01a1fcc2-d1a0-700c-a0de-ecd108a6b391'] });

/** A moment in UTC, with up to six fraction digits. */
export const Timestamp = () => Type.String({ format: 'date-time', examples: ['2031-05-01T16:00:00Z'] });

/** A moment in a request: RFC 3339 with any offset, brought to UTC as it is read. */
export const TimestampInput = (options: { description?: string; examples?: string[] } = {}) =>
  Type.String({
    format: 'date-time',
    'x-instant': true,
    examples: ['2031-05-01T18:00:00+02:00'],
    ...options,
  });

/** A day without a time or a zone, such as `2026-05-01`, in the years 1900 to 2199 (RFC 3339, full-date). */
export const CalendarDate = () => Type.String({ format: 'date', examples: ['2026-05-01'] });

/**
 * A decimal number in a request, as text, because a JSON number is binary: `"12.50"`. Not negative.
 *
 * @param limits how many digits it may have before and after its point: those of the column
 */
export const Decimal = ({ digits, scale }: { digits: number; scale: number }) =>
  Type.String({
    pattern: `^(0|[1-9][0-9]{0,${digits - 1}})([.][0-9]{1,${scale}})?$`,
    description: `A decimal number such as 12.50, with at most ${digits} digits before the point and ${scale} behind it.`,
    examples: ['12.50'],
  });

/** Text in a request: trimmed as it is read, then counted in code points. */
export const TextInput = (kind: TextKind, limits: { minLength?: number; maxLength: number }) =>
  Type.String({ 'x-text': kind, ...limits });

/** The schema or null; one schema with two types, so that a fault is reported once. */
export const Nullable = <Schema extends TString | ReturnType<typeof Type.Integer>>(schema: Schema) =>
  Type.Unsafe<Static<Schema> | null>({ ...schema, type: [schema.type, 'null'] });

/** One of some words. */
export const OneOf = <Word extends string>(words: readonly Word[], options: { description?: string } = {}) =>
  Type.Unsafe<Word>({ type: 'string', enum: [...words], ...options });

/** Some of a few words, with commas between; read as a list. */
export const SomeOf = <Word extends string>(words: readonly Word[], options: { description?: string } = {}) =>
  Type.Unsafe<Word[]>({
    type: 'string',
    'x-some-of': [...words],
    examples: [words.slice(0, 2).join(',')],
    ...options,
  });

/** Part of a text, to search for. */
export const SearchText = (where: string, example: string) =>
  Type.String({
    'x-text': 'line',
    maxLength: 100,
    description: `Part of ${where}, in any letter case.`,
    examples: [example],
  });

/** A DTO by its name: a reference to the schema registered under its `$id`. */
export const Named = <Schema extends TSchema>(schema: Schema) =>
  Type.Unsafe<Static<Schema>>(Type.Ref(schema.$id as string));

/** An object that takes these fields and no others. */
export const Strict = <Properties extends TObject['properties']>(
  properties: Properties,
  options: Record<string, unknown> = {},
) => Type.Object(properties, { additionalProperties: false, ...options });

/** The path parameter of one row. */
export const IdParams = (noun: string, example: string) =>
  Strict({ id: Type.String({ format: 'uuid', description: `The id of the ${noun}.`, examples: [example] }) });

/** A query string that takes no parameter. */
export const NoQuery = Strict({});
