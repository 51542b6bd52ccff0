import { STATUS_CODES } from 'node:http';
import { REQUEST_ID } from '../examples.js';
import { type Code, codes } from './catalogue.js';
import { Problem } from './problem.js';

/** The example of a code as its page shows it: a request, and the whole answer. */
export function exampleOf(code: Code): { request: string; status: string; body: string } {
  const { status, example } = codes[code];
  const [, url = ''] = example.request.split(' ');
  const [path = url] = url.split('?');
  const body = new Problem(code, example.extensions).toBody(path, REQUEST_ID);
  return {
    request: example.request,
    status: `${status} ${STATUS_CODES[status]}`,
    body: JSON.stringify(body, null, 2),
  };
}
