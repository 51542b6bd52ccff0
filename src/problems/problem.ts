import { type Code, codes } from './codes.js';

/** One fault of a message: where it is, a stable code, and what to do. */
export type Fault = { code: string; detail: string } & (
  | { pointer: string }
  | { parameter: string }
  | { header: string }
);

/** Members of a problem beside the standard ones. */
export type Extensions = Partial<{
  detail: string;
  errors: Fault[];
  requiredRole: string;
  yourRole: string;
  currentVersion: number;
  signupCount: number;
  currentState: string;
  requestedState: string;
  allowedTransitions: readonly string[];
}>;

/**
 * A refusal, as RFC 9457 describes it. Whoever refuses throws one; `plugins/problems.ts` sends it.
 */
export class Problem extends Error {
  override name = 'Problem';
  readonly status: number;

  constructor(
    readonly code: Code,
    readonly extensions: Extensions = {},
    readonly headers: Record<string, string> = {},
  ) {
    super(extensions.detail ?? codes[code][2]);
    this.status = codes[code][0];
  }

  /** The body, with members in the order people read them. */
  toBody(instance: string, requestId: string): Record<string, unknown> {
    const [status, title, detail] = codes[this.code];
    const { detail: own, ...extensions } = this.extensions;
    return {
      type: `/problems/${this.code}`,
      title,
      status,
      detail: own ?? detail,
      instance,
      code: this.code,
      requestId,
      ...extensions,
    };
  }
}
