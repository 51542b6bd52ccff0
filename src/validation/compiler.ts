import type { Static, TObject, TSchema } from '@sinclair/typebox';
import {
  Ajv,
  type AnySchema,
  type FuncKeywordDefinition,
  type SchemaValidateFunction,
  type ValidateFunction,
} from 'ajv';
import type { DataValidationCxt } from 'ajv/dist/types/index.js';
import { didYouMean } from './closest.js';
import { isCalendarDate, isLocalTime, toInstant } from './instant.js';
import type { Rule } from './schemas.js';
import { EMAIL, isCleanText, isVisible, type TextKind } from './text.js';
import { isUuid } from './uuid.js';

/** Trims a string in place before its length is checked, and checks its characters. */
const checkText: SchemaValidateFunction = (kind: TextKind, text: string, schema, place) => {
  const trimmed = text.trim();
  replace(place, trimmed);
  // An empty text is reported by minLength.
  if (schema?.minLength > 0 && trimmed !== '' && isCleanText(trimmed, kind) && !isVisible(trimmed)) {
    checkText.errors = errorOf('This needs at least one visible character.');
    return false;
  }
  checkText.errors = errorOf(
    kind === 'line'
      ? 'This must be one line of text without control characters or lone surrogates.'
      : 'This must be text without lone surrogates and control characters other than tabs and line feeds. Send a line break as \\n, without \\r.',
  );
  return isCleanText(trimmed, kind);
};

/** Replaces a text of blanks by null in place. */
const emptyIsNull: SchemaValidateFunction = (_on: true, text: unknown, _schema, place) => {
  if (typeof text === 'string' && text.trim() === '') {
    replace(place, null);
  }
  return true;
};

/** Trims the strings of an array in place, before they are compared. */
const trimTexts: SchemaValidateFunction = (_on: true, items: unknown[]) => {
  for (const [index, item] of items.entries()) {
    items[index] = typeof item === 'string' ? item.trim() : item;
  }
  return true;
};

/** Converts a time to UTC in place. */
const checkInstant: SchemaValidateFunction = (_on: true, text: string, _schema, place) => {
  const utc = toInstant(text);
  replace(place, utc ?? text);
  checkInstant.errors = errorOf(
    'This must be an RFC 3339 time with an offset, such as 2026-05-01T18:00:00Z, in the years 1970 to 2199, without leap seconds.' +
      (/T[\d:.]+ \d/.test(text) ? ' In a URL the + of an offset is written as %2B.' : ''),
  );
  return utc !== null;
};

/** Checks rules over several fields of an object. */
const checkRules: SchemaValidateFunction = (
  rules: Rule | Rule[],
  object: Record<string, unknown>,
  _schema,
  place,
) => {
  const broken = [rules].flat().filter(({ holds }) => !holds(object));
  checkRules.errors = broken.flatMap(({ detail, pointer }) =>
    errorOf(detail, `${place?.instancePath ?? ''}${pointer}`),
  );
  return broken.length === 0;
};

/**
 * Converts digits to integers in place. Ajv's own coercion would also accept 0x10, 1e2 and blanks. A value that remains
 * text fails the check of its type.
 */
const readDigits: SchemaValidateFunction = (names: string[], parameters: Record<string, unknown>) => {
  for (const name of names) {
    const text = parameters[name];
    if (typeof text === 'string' && /^[0-9]+$/.test(text)) {
      parameters[name] = Number(text);
    }
  }
  return true;
};

/** Splits a comma-separated list in place. */
const checkSomeOf: SchemaValidateFunction = (known: string[], text: string, _schema, place) => {
  const words = [...new Set(text.split(','))];
  replace(place, words);
  const unknown = words.find((word) => !known.includes(word));
  checkSomeOf.errors = errorOf(
    `This must be one or more of: ${known.join(', ')}, with commas between.${didYouMean(unknown, known)}`,
  );
  return unknown === undefined;
};

/**
 * Compiles the schemas of routes to validators. Bodies are not coerced ("5" is not 5); in paths and query strings digits are
 * read as integers.
 *
 * @param shared the schemas that other schemas refer to, by `$id`
 */
export function buildValidator(shared: Record<string, unknown>) {
  let bodies: Ajv | undefined;
  return (definition: unknown): ValidateFunction => {
    // Fastify also passes the part of the message; its types declare only the schema.
    const { schema, httpPart } = definition as { schema: TObject; httpPart?: string };
    if (httpPart !== 'body') {
      return parametersValidator(schema);
    }
    bodies ??= newCompiler(shared);
    return bodies.compile(schema);
  };
}

/** The validators of paths and query strings, by their schemas. */
const parameterValidators = new WeakMap<TObject, ValidateFunction>();

/** Compiles each schema once: most routes have no parameters, and so the same one. It refers to no other schema. */
function parametersValidator(schema: TObject): ValidateFunction {
  const known = parameterValidators.get(schema);
  const validator = known ?? newCompiler().compile({ ...schema, 'x-digits': integersOf(schema) });
  parameterValidators.set(schema, validator);
  return validator;
}

function integersOf({ properties }: TObject): string[] {
  return Object.keys(properties).filter((name) => properties[name]?.type === 'integer');
}

/** The project's own keywords; the building blocks in `schemas.ts` use them. */
const keywords: FuncKeywordDefinition[] = [
  // Before the lengths, which are checked after trimming.
  {
    keyword: 'x-text',
    type: 'string',
    modifying: true,
    before: 'maxLength',
    errors: true,
    validate: checkText,
  },
  // Without a type it runs before the keywords of strings, which a null skips.
  { keyword: 'x-empty-is-null', modifying: true, validate: emptyIsNull },
  { keyword: 'x-texts', type: 'array', modifying: true, before: 'uniqueItems', validate: trimTexts },
  { keyword: 'x-instant', type: 'string', modifying: true, errors: true, validate: checkInstant },
  { keyword: 'x-some-of', type: 'string', modifying: true, errors: true, validate: checkSomeOf },
  { keyword: 'x-digits', type: 'object', modifying: true, before: 'properties', validate: readDigits },
  { keyword: 'x-rule', type: 'object', errors: true, validate: checkRules },
];

function replace(place: DataValidationCxt | undefined, value: unknown): void {
  if (place !== undefined) {
    place.parentData[place.parentDataProperty] = value;
  }
}

function errorOf(message: string, instancePath?: string) {
  return [{ keyword: 'x', params: {}, message, ...(instancePath === undefined ? {} : { instancePath }) }];
}

/** The formats of responses, as the service writes them. */
const RESPONSE_FORMATS = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/,
};

/** A check of responses of this service, such as one of another cell: that a value has the form of a DTO. Further members are allowed. */
export function buildResponseCheck<Schema extends TSchema>(
  schema: Schema,
): (value: unknown) => value is Static<Schema> {
  // The first error ends the check: a foreign response can have as many as it has members.
  const ajv = new Ajv({ strict: false, validateSchema: false, formats: RESPONSE_FORMATS });
  const validate = ajv.compile<Static<Schema>>(schema);
  return (value): value is Static<Schema> => validate(value);
}

function newCompiler(shared: Record<string, unknown> = {}): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    // An error has the schema, which has the valid names.
    verbose: true,
    removeAdditional: false,
    strict: false,
    // The tests check the schemas, not each start: compiling the schema of schemas takes longer than all others.
    validateSchema: false,
  });
  ajv.addFormat('uuid', isUuid);
  ajv.addFormat('date', isCalendarDate);
  ajv.addFormat('date-time-local', isLocalTime);
  ajv.addFormat('email', EMAIL);
  // Requests are checked by x-instant; responses are always valid.
  ajv.addFormat('date-time', true);
  for (const keyword of keywords) {
    ajv.addKeyword(keyword);
  }
  for (const [id, schema] of Object.entries(shared)) {
    ajv.addSchema(schema as AnySchema, id);
  }
  return ajv;
}
