import type { Problem, ProblemCode } from './types.js';

/** What a call came to beside its answer. */
export interface Circumstances {
  /** Method and path of the request. */
  request: string;
  /** How often it was sent. */
  attempts: number;
  /**
   * Whether an earlier attempt ended without an answer, or with one that leaves open what became of it: the
   * refusal may then be due to the caller's own first attempt.
   */
  isDoubtful: boolean;
  /** How long the service asks to wait, when it does. */
  retryAfterMs: number | undefined;
}

/** The service refused: `code` says why, `message` what to do. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly code: ProblemCode;
  readonly status: number;
  /** Names the request in the logs of the service. */
  readonly requestId: string;
  /** Every fault of the message; empty when it is about something else. */
  readonly errors: NonNullable<Problem['errors']>;
  readonly request: string;
  readonly attempts: number;
  readonly isDoubtful: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    /** All that was said: `currentVersion`, `allowedTransitions` and the like stand there. */
    readonly problem: Problem,
    { request, attempts, isDoubtful, retryAfterMs }: Circumstances,
  ) {
    super(`${problem.code}: ${problem.detail}`);
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

/** Something answered, and it was not the service: a proxy with a page of its own, or another server. */
export class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError';

  constructor(
    readonly status: number,
    readonly contentType: string | null,
    readonly request: string,
    readonly attempts: number,
  ) {
    super(
      `${request} was answered with ${status} and ${contentType ?? 'no content type'}, which is not an answer ` +
        'of the Club Management Service. Is baseUrl right, and is the service running behind its proxy?',
    );
  }
}

/** Nothing answered, or not in time. Whether the request has arrived nobody can say. */
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

/** Whether it is a refusal, with one of these codes when any are given. */
export function isProblem<Code extends ProblemCode = ProblemCode>(
  error: unknown,
  ...codes: Code[]
): error is ProblemError & { readonly code: Code } {
  return error instanceof ProblemError && (codes.length === 0 || codes.includes(error.code as Code));
}

/** Node says `fetch failed`, and why one level deeper. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
  return `${error.message}${code}`;
}
