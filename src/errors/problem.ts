import { type Static, type TProperties, Type } from '@sinclair/typebox';

/** An invalid field, parameter or header: where it is, a stable code, and what to do. */
export type FieldError = { code: string; detail: string } & (
  | { pointer: string }
  | { parameter: string }
  | { header: string }
);

/** The members of a problem in addition to the standard ones: those of its error type, `detail` and `errors`. */
export type Members<Own extends TProperties> = { [Name in keyof Own]?: Static<Own[Name]> } & {
  detail?: string;
  errors?: FieldError[];
};

/**
 * A kind of error that clients distinguish by its code. Responses, the OpenAPI document, the pages below /problems and
 * docs/errors.md use it. Backticks in its texts mark code.
 */
export interface ErrorType<Own extends TProperties = TProperties> {
  /** Clients depend on the code, so its meaning never changes. */
  code: string;
  status: number;
  title: string;
  /** The sentence in the response: what to do. It can use the members. */
  detail: string | Sentence<Own>['of'];
  /** What has happened, for a reader who sees the code for the first time. */
  meaning: string;
  /** How to correct it. */
  fix: string;
  /** The schemas of the members that only this error has. */
  members?: Own;
  /** A request, and the members of its response other than those of every problem. */
  example: { request: string; members?: Members<Own> };
  /** The SQLSTATE that the database raises for this error; defined by the project. */
  sqlState?: string;
  /** Other SQLSTATEs of this error, each with the sentence of its response instead of `detail`. */
  detailBySqlState?: Record<string, Sentence<Own>['of']>;
  /** The database constraint whose violation is this error. */
  constraint?: string;
}

/** A method, because its parameter is bivariant: every ErrorType with own members is then assignable to ErrorType. */
interface Sentence<Own extends TProperties> {
  of(members: Members<Own>): string;
}

/** The member of a conflict with the current version. */
export const CurrentVersion = Type.Integer({
  description: 'The current version. Read the object again before you repeat the change.',
});

/** Defines an error type; the type of its members is inferred. */
export function defineError<Own extends TProperties = Record<never, never>>(
  type: ErrorType<Own>,
): ErrorType<Own> {
  return type;
}

/** An error response (RFC 9457). Throw it; `http/error-handler.ts` sends it. */
export class Problem<Own extends TProperties = TProperties> extends Error {
  override name = 'Problem';
  readonly type: ErrorType<Own>;
  readonly members: Members<Own>;
  readonly headers: Record<string, string>;
  /** The reason, for the log only. */
  readonly reason: string | undefined;
  /** Whether a write was committed, for the log only; undefined when it certainly was not, or there was none. */
  readonly committed: 'unknown' | undefined;

  constructor(
    type: ErrorType<Own>,
    members: Members<Own> = {},
    { headers = {}, reason, committed }: Partial<Pick<Problem, 'headers' | 'reason' | 'committed'>> = {},
  ) {
    const { detail } = type;
    super(members.detail ?? (typeof detail === 'string' ? detail : detail(members)));
    this.type = type;
    this.members = members;
    this.headers = headers;
    this.reason = reason;
    this.committed = committed;
  }

  get code(): string {
    return this.type.code;
  }

  get status(): number {
    return this.type.status;
  }

  /** The body of the response: the standard members first. */
  toBody(instance: string, requestId: string): Record<string, unknown> {
    const { detail: _message, ...members } = this.members;
    return {
      type: `/problems/${this.code}`,
      title: this.type.title,
      status: this.status,
      detail: this.message,
      instance,
      code: this.code,
      requestId,
      ...members,
    };
  }
}
