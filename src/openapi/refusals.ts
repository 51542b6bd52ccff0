import { ROLES } from '../auth/roles.js';
import { type Code, codes } from '../errors/catalogue.js';
import { Problem } from '../errors/problem.js';
import type { Extensions } from '../errors/refusal.js';
import { REQUEST_ID } from '../examples.js';
import type { Operation } from './operation.js';

/** A refusal as this operation gives it: that of the table, with what depends on the operation. */
export function exampleOfRefusal(code: Code, operation: Operation, instance: string) {
  const problem = new Problem(code, { ...codes[code].example.extensions, ...ownOf(code, operation) });
  return { summary: codes[code].title, value: problem.toBody(instance, REQUEST_ID) };
}

/** What the codes of a status mean, as a list in Markdown. */
export function describeRefusals(group: readonly Code[]): string {
  return group.map((code) => `- [\`${code}\`](/problems/${code}): ${codes[code].meaning}`).join('\n');
}

function ownOf(code: Code, { url, policy, sends }: Operation): Extensions {
  switch (code) {
    case 'insufficient_role': {
      const required = ROLES.findIndex((role) => policy === `Require${role}`);
      return { requiredRole: ROLES[required] as string, yourRole: ROLES[required - 1] as string };
    }
    case 'validation_failed':
      return url.endsWith('/signup') ? unknown({ pointer: '/comment' }, 'field') : {};
    case 'invalid_parameter':
      if (url.includes(':id')) {
        const fault = { parameter: 'id', code: 'invalid_format', detail: 'This must be a UUID.' };
        return { errors: [fault] };
      }
      // Only lists take parameters, and all of them a limit, which the table's example is about.
      return sends.includes('Link') ? {} : unknown({ parameter: 'verbose' }, 'parameter');
    default:
      return {};
  }
}

function unknown(place: { pointer: string } | { parameter: string }, noun: string): Extensions {
  return { errors: [{ ...place, code: 'unknown', detail: `There is no such ${noun} here.` }] };
}
