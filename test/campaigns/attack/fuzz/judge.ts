import type { Response } from '../../../setup/send.js';
import type { Verdict } from './oracle.js';
import type { FuzzRequest } from './request.js';
import { CANARY } from './site.js';

/** A fault of an answer, and its counter in the tally. */
export interface Complaint {
  count: 'succeeded' | 'serverErrors' | 'leaks';
  what: string;
}

/** The statuses for a request that the document does not allow. */
const ABOUT_THE_MESSAGE = [400, 413, 415];
/** Codes of 400 that do not concern the form of the message. */
const ABOUT_SOMETHING_ELSE = [
  'tenant_header_missing',
  'tenant_header_invalid',
  'test_user_invalid',
  'invalid_cursor',
];

/** Words that reveal the implementation. */
const INSIDE =
  /\bat .*\(.*:\d+:\d+\)|node_modules|PostgresError|SQLSTATE|\bpg_\w+|app\.(tasks|shifts|members)\b|ECONN|fastify/i;

/** Headers of every answer. */
const ALWAYS: Record<string, RegExp> = {
  'x-request-id': /^[\da-f-]{36}$/,
  'cache-control': /^(private, no-cache|public, max-age=\d+)$/,
  'x-content-type-options': /^nosniff$/,
};

/**
 * Checks an answer against its request.
 *
 * @param hold throws when the answer is not in the document
 */
export function judge(
  request: FuzzRequest,
  verdict: Verdict,
  answer: Response,
  hold: (method: string, url: string, answer: Response) => void,
): Complaint | undefined {
  const { status, body, text } = answer;
  if (status >= 500) {
    return { count: 'serverErrors', what: `${status} ${body?.code ?? text.slice(0, 200)}` };
  }
  // A text of the request may be repeated: only other texts reveal the implementation.
  const leaked = status >= 400 ? (INSIDE.exec(withoutErrors(body, text))?.[0] ?? '') : '';
  const leak = text.includes(CANARY) ? CANARY : leaked;
  if (leak !== '') {
    return { count: 'leaks', what: `${status} with ${leak}` };
  }
  const wrong = misfit(request, verdict, answer) ?? outsideOf(request, verdict, answer, hold);
  return wrong === undefined
    ? undefined
    : { count: 'succeeded', what: `${status} ${body?.code ?? ''}: ${wrong}` };
}

function withoutErrors(body: unknown, text: string): string {
  return typeof body === 'object' && body !== null
    ? JSON.stringify({ ...body, errors: undefined, instance: undefined })
    : text;
}

/** Whether a valid request was refused, or an invalid one accepted. */
function misfit({ method }: FuzzRequest, verdict: Verdict, { status, body }: Response): string | undefined {
  const { operation, faults, unsaid, isAdmin } = verdict;
  if (operation === undefined || unsaid !== undefined) {
    return undefined;
  }
  const isRefused = ABOUT_THE_MESSAGE.includes(status) && !ABOUT_SOMETHING_ELSE.includes(body?.code);
  // The body of a HEAD answer, with the code of the 400, is not sent.
  if (faults.length === 0 && isRefused && method !== 'HEAD') {
    return `the document calls this valid: ${JSON.stringify(body)}`;
  }
  const isExpected = isAdmin ? ABOUT_THE_MESSAGE.includes(status) : status >= 400;
  return faults.length > 0 && !isExpected ? `this breaks the document: ${faults.join(', ')}` : undefined;
}

function outsideOf(
  { method, url }: FuzzRequest,
  { operation, methods }: Verdict,
  answer: Response,
  hold: (method: string, url: string, answer: Response) => void,
): string | undefined {
  const { status, headers, body } = answer;
  const missing = Object.entries(ALWAYS).filter(([name, form]) => !form.test(String(headers[name] ?? '')));
  if (missing.length > 0) {
    return `without ${missing.map(([name]) => name).join(', ')}`;
  }
  if (operation !== undefined) {
    try {
      hold(method, operation.path, answer);
    } catch (error) {
      return (error as Error).message;
    }
    return body?.code === 'route_not_found' || body?.code === 'method_not_allowed'
      ? 'the route exists'
      : undefined;
  }
  if (methods.length > 0) {
    return status === 405 && headers.allow === methods.join(', ') ? undefined : `Allow is ${headers.allow}`;
  }
  // Paths outside of the document: only the root, the document itself and its pages exist.
  if (/^\/($|docs(\/|$)|openapi\.json)/.test(decode(url.split('?')[0] ?? '')) && status < 400) {
    return undefined;
  }
  const isProblem = headers['content-type'] === 'application/problem+json' && body?.status === status;
  const isNowhere = [400, 404, 405].includes(status) && (method === 'HEAD' || isProblem);
  return isNowhere ? undefined : 'nothing is at this path';
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
