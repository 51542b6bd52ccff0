import { type Static, type TProperties, Type } from '@sinclair/typebox';

/** One fault of a message: where it is, a stable code, and what to do. */
export type Fault = { code: string; detail: string } & (
  | { pointer: string }
  | { parameter: string }
  | { header: string }
);

/** Members of a problem beside the standard ones: those of its error type, and these two. */
export type Members<Own extends TProperties> = { [Name in keyof Own]?: Static<Own[Name]> } & {
  detail?: string;
  errors?: Fault[];
};

/**
 * A kind of error, as clients tell them apart. The answers, the document, the pages below /problems and docs/errors.md are
 * all made of it. Texts for people may hold `code` between backticks.
 */
export interface ErrorType<Own extends TProperties = TProperties> {
  /** Clients switch on the code, so a code never changes its meaning. */
  code: string;
  status: number;
  title: string;
  /** The sentence of the answer: what to do, as exactly as its members allow. */
  detail: string | Sentence<Own>['of'];
  /** What has happened, for a reader who meets the code for the first time. */
  meaning: string;
  /** How to correct it. */
  fix: string;
  /** The schemas of the members that only this error has. */
  members?: Own;
  /** A request, and what its answer holds beside the members that every problem has. */
  example: { request: string; members?: Members<Own> };
  /** The SQLSTATE that the database raises for it: one of the project's own. */
  sqlState?: string;
  /** The constraint of the database that means it. */
  constraint?: string;
}

/** Written as a method, whose parameter may be narrower: so each ErrorType with members of its own is an ErrorType. */
interface Sentence<Own extends TProperties> {
  of(members: Members<Own>): string;
}

/** The member of a conflict that says which version to read. */
export const CurrentVersion = Type.Integer({ description: 'The version to read again.' });

/** Defines an error; its members are inferred. */
export function defineError<Own extends TProperties = Record<never, never>>(
  type: ErrorType<Own>,
): ErrorType<Own> {
  return type;
}

/** An error answer, as RFC 9457 describes it. Throw one; `http/error-handler.ts` sends it. */
export class Problem<Own extends TProperties = TProperties> extends Error {
  override name = 'Problem';
  readonly type: ErrorType<Own>;
  readonly members: Members<Own>;
  readonly headers: Record<string, string>;
  /** Why, where only the operator may know: for the log. */
  readonly reason: string | undefined;

  constructor(
    type: ErrorType<Own>,
    members: Members<Own> = {},
    { headers = {}, reason }: { headers?: Record<string, string>; reason?: string | undefined } = {},
  ) {
    const { detail } = type;
    super(members.detail ?? (typeof detail === 'string' ? detail : detail(members)));
    this.type = type;
    this.members = members;
    this.headers = headers;
    this.reason = reason;
  }

  get code(): string {
    return this.type.code;
  }

  get status(): number {
    return this.type.status;
  }

  /** The body, with members in the order in which people read them. */
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
