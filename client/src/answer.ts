import { type Circumstances, ProblemError, UnexpectedAnswerError } from './errors.js';
import type { Problem } from './types.js';

/** What came back. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** Whether the request is worth sending again: it was too much, or nobody knows what became of it. */
export function isPassing({ status, text }: Answer): boolean {
  return (
    [429, 502, 503, 504].includes(status) || (status === 409 && text.includes('"idempotency_in_progress"'))
  );
}

/** Whether the request may have been done although this came back. */
export function isDoubtful({ status }: Answer): boolean {
  return status >= 500;
}

/** How long the answer asks to wait (RFC 9110, 10.2.3): seconds, or a date. */
export function retryAfterOf({ headers }: Answer): number | undefined {
  const said = headers.get('retry-after');
  if (said === null) {
    return undefined;
  }
  const ms = /^\d+$/.test(said) ? Number(said) * 1_000 : Date.parse(said) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

/**
 * The body of a success.
 *
 * @throws ProblemError for a refusal
 * @throws UnexpectedAnswerError for what the service does not say
 */
export function readAnswer(answer: Answer, circumstances: Circumstances): unknown {
  const { status, headers, text } = answer;
  if (status === 204) {
    return undefined;
  }
  const body = parse(text);
  if (status >= 200 && status < 300 && body !== undefined) {
    return body;
  }
  if (status >= 400 && isProblemBody(body)) {
    throw new ProblemError(body, circumstances);
  }
  throw new UnexpectedAnswerError(
    status,
    headers.get('content-type'),
    circumstances.request,
    circumstances.attempts,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isProblemBody(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
}
