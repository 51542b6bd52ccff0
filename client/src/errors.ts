import type { Problem, ProblemCode } from './types.js';

/** The circumstances of an error. */
export interface Circumstances {
  /** Method and path of the request. */
  request: string;
  /** The number of attempts. */
  attempts: number;
  /**
   * Whether an earlier attempt may have taken effect: it had no response or a 5xx. The error can then be a consequence of
   * the caller's own first attempt.
   */
  isDoubtful: boolean;
  /** The time of Retry-After, if the response has it. */
  retryAfterMs: number | undefined;
}

/** An error of the service: `code` says why, `message` what to do. */
export class ProblemError extends Error {
  override readonly name: string = 'ProblemError';
  readonly code: ProblemCode;
  readonly status: number;
  /** The id of the request in the logs of the service. */
  readonly requestId: string;
  /** Every invalid field, parameter or header; empty for other errors. */
  readonly errors: NonNullable<Problem['errors']>;
  readonly request: string;
  readonly attempts: number;
  readonly isDoubtful: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    /** The complete problem, with members such as `currentVersion` and `allowedTransitions`. */
    readonly problem: Problem,
    { request, attempts, isDoubtful, retryAfterMs }: Circumstances,
  ) {
    super(`${problem.code}: ${problem.detail}${fieldErrorsOf(problem)}`);
    this.code = problem.code;
    this.status = problem.status;
    this.requestId = problem.requestId;
    this.errors = problem.errors ?? [];
    this.request = request;
    this.attempts = attempts;
    this.isDoubtful = isDoubtful;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The event to go on after is forgotten or unknown, so events may be missing: read the lists again. */
export class EventsForgottenError extends ProblemError {
  override readonly name = 'EventsForgottenError';
  /** The number of the oldest event of the club; undefined if there is none. */
  readonly oldestSequence: number | undefined;

  constructor(problem: Problem, circumstances: Circumstances) {
    super(problem, circumstances);
    this.oldestSequence = problem.oldestSequence;
  }
}

/** How many field errors a message names. */
const NAMED_ERRORS = 3;

/** The first of several field errors, for a message; a single one is in the detail. Places are JSON, so a message has one line. */
function fieldErrorsOf({ errors = [] }: Problem): string {
  if (errors.length < 2) {
    return '';
  }
  const named = errors
    .slice(0, NAMED_ERRORS)
    .map(
      ({ pointer, parameter, header, detail }) =>
        `${JSON.stringify(pointer ?? parameter ?? header)}: ${detail}`,
    );
  return ` ${named.join(' ')}`;
}

/** The response is not from the service, but for example from a proxy or another server. */
export class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError';
  readonly contentType: string | null;
  readonly request: string;
  readonly attempts: number;
  readonly isDoubtful: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    /** The status; 0 for a redirect in a browser. */
    readonly status: number,
    headers: Headers,
    { request, attempts, isDoubtful, retryAfterMs }: Circumstances,
  ) {
    super(`${request} ${reasonOfUnexpected(status, headers)}`);
    this.contentType = headers.get('content-type');
    this.request = request;
    this.attempts = attempts;
    this.isDoubtful = isDoubtful;
    this.retryAfterMs = retryAfterMs;
  }
}

function reasonOfUnexpected(status: number, headers: Headers): string {
  // A browser hides the response of a redirect: its status is 0, and it has no headers.
  if (status === 0 || (status >= 300 && status < 400)) {
    // Without the query string, which can contain names of people or a token.
    const location = headers.get('location')?.replace(/[?#].*/s, '');
    const target = location === undefined ? ', for example to a login page' : ` to ${location}`;
    return `was redirected${target}. The client does not follow redirects. Is baseUrl right, with https if it is needed?`;
  }
  return (
    `was answered with ${status} and ${headers.get('content-type') ?? 'no content type'}, which is not an answer ` +
    'of the Club Management Service. Is baseUrl right, and is the service running behind its proxy?'
  );
}

/** There was no response, or not in time. It is unknown whether the request arrived. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';

  constructor(
    readonly request: string,
    readonly attempts: number,
    cause: unknown,
  ) {
    const times = attempts === 1 ? 'once' : `${attempts} times`;
    super(`${request} was sent ${times} and has no answer: ${reasonOf(cause)}.`, { cause });
  }
}

/** Whether the error is a ProblemError, with one of these codes if any are given. */
export function isProblem<Code extends ProblemCode = ProblemCode>(
  error: unknown,
  ...codes: Code[]
): error is ProblemError & { readonly code: Code } {
  return error instanceof ProblemError && (codes.length === 0 || codes.includes(error.code as Code));
}

/** Node.js reports `fetch failed`; the reason is in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
  return `${error.message}${code}`;
}
