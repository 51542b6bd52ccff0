import { type Circumstances, EventsForgottenError, ProblemError, UnexpectedAnswerError } from './errors.js';
import type { Problem } from './types.js';

/** A response. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** Whether a retry can succeed: the service is overloaded or unavailable, or the first request is still in progress. */
export function isRetryable({ status, text }: Answer): boolean {
  return (
    [429, 502, 503, 504].includes(status) || (status === 409 && text.includes('"idempotency_in_progress"'))
  );
}

/** Whether the request may have taken effect although this response is an error. */
export function isDoubtful({ status }: Answer): boolean {
  return status >= 500;
}

/** Whether the service, and not a proxy before it, reports that the object does not exist. */
export function isNotFound({ status, text }: Answer): boolean {
  return status === 404 && isProblemBody(parse(text));
}

/** The time of Retry-After in milliseconds (RFC 9110, 10.2.3); the header has seconds or a date. */
export function retryAfterOf({ headers }: Answer): number | undefined {
  const header = headers.get('retry-after');
  if (header === null) {
    return undefined;
  }
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

/**
 * Returns the body of a success.
 *
 * @throws ProblemError for an error of the service
 * @throws UnexpectedAnswerError for a response that is not from the service
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
    const Type = body.code === 'events_forgotten' ? EventsForgottenError : ProblemError;
    throw new Type(body, circumstances);
  }
  throw new UnexpectedAnswerError(status, headers, circumstances);
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
