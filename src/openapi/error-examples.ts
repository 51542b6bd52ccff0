import type { TProperties } from '@sinclair/typebox';
import { insufficientRole } from '../errors/auth.js';
import { type ErrorType, type Members, Problem } from '../errors/problem.js';
import { invalidParameter, validationFailed } from '../errors/request.js';
import { REQUEST_ID } from '../examples.js';
import { ROLES } from '../roles.js';
import type { ObjectSchema, Operation } from './operation.js';

/** The example of an error for an operation: that of its type, with the members that depend on the operation. */
export function exampleOfError(type: ErrorType, operation: Operation, instance: string) {
  const problem = new Problem(type, { ...type.example.members, ...ownOf(type, operation) });
  return { summary: type.title, value: problem.toBody(operation.shownAs ?? instance, REQUEST_ID) };
}

/** The meanings of the errors of a status, as a list in Markdown. */
export function describeErrors(types: readonly ErrorType[]): string {
  return types.map(({ code, meaning }) => `- [\`${code}\`](/problems/${code}): ${meaning}`).join('\n');
}

function ownOf(type: ErrorType, { url, policy, body, query }: Operation): Members<TProperties> {
  switch (type) {
    case insufficientRole: {
      const required = ROLES.findIndex((role) => policy === `Require${role}`);
      return { requiredRole: ROLES[required], yourRole: ROLES[required - 1] };
    }
    case validationFailed:
      return { errors: [errorOfBody(body)] };
    case invalidParameter:
      if (url.includes(':id')) {
        return { errors: [{ parameter: 'id', code: 'invalid_format', detail: 'This must be a UUID.' }] };
      }
      return query?.properties?.limit === undefined
        ? { errors: [{ parameter: 'verbose', ...unknown('parameter') }] }
        : {};
    default:
      return {};
  }
}

/** An error of the body: its first required field is missing or, if it has none, a field is unknown. */
function errorOfBody({ required: [required] = [] }: ObjectSchema = {}) {
  return required === undefined
    ? { pointer: '/comment', ...unknown('field') }
    : { pointer: `/${required}`, code: 'required', detail: 'This field is required.' };
}

function unknown(noun: string): { code: string; detail: string } {
  return { code: 'unknown', detail: `Unknown ${noun}.` };
}
