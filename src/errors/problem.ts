import { type Code, codes } from './catalogue.js';
import type { Extensions } from './refusal.js';

/**
 * A refusal, as RFC 9457 describes it. Whoever refuses throws one; `http/error-handler.ts` sends it.
 */
export class Problem extends Error {
  override name = 'Problem';
  readonly status: number;

  constructor(
    readonly code: Code,
    readonly extensions: Extensions = {},
    readonly headers: Record<string, string> = {},
    /** Why, where only the operator may know: for the log. */
    readonly reason?: string | undefined,
  ) {
    const { status, detail } = codes[code];
    super(extensions.detail ?? (typeof detail === 'string' ? detail : detail(extensions)));
    this.status = status;
  }

  /** The body, with members in the order people read them. */
  toBody(instance: string, requestId: string): Record<string, unknown> {
    const { detail: _said, ...extensions } = this.extensions;
    return {
      type: `/problems/${this.code}`,
      title: codes[this.code].title,
      status: this.status,
      detail: this.message,
      instance,
      code: this.code,
      requestId,
      ...extensions,
    };
  }
}
