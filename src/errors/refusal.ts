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

/** What there is to say of a code. Texts for people may hold `code` between backticks. */
export interface Refusal {
  status: number;
  title: string;
  /** The answer's own sentence: what to do, as exactly as the members beside it allow. */
  detail: string | ((extensions: Extensions) => string);
  /** What has happened, for somebody who meets the code for the first time. */
  meaning: string;
  /** How to get rid of it. */
  fix: string;
  /** A request, and what its refusal holds beside the members that every problem has. */
  example: { request: string; extensions?: Extensions };
}

/** A place that can stand in a sentence; anything else that a caller wrote stays where it is escaped. */
const PLAIN_PLACE = /^[\w./~[\]-]{1,64}$/;

/** The sentence about faults: of a single one what to do about it, of several that there are some. */
export function sayFaults(several: string): (extensions: Extensions) => string {
  return ({ errors = [] }) => {
    const [fault, ...others] = errors;
    if (fault === undefined || others.length > 0) {
      return several;
    }
    const place = 'pointer' in fault ? fault.pointer : 'parameter' in fault ? fault.parameter : fault.header;
    return PLAIN_PLACE.test(place) ? `\`${place}\`: ${fault.detail}` : fault.detail;
  };
}

/** The sentence about what may be done with a task instead. */
export function sayAllowed(allowed: readonly string[] | undefined): string {
  if (allowed === undefined) {
    return 'Read the task again: its `allowedTransitions` lists what you may do.';
  }
  return allowed.length === 0
    ? 'There is no step that you may take.'
    : `You may set ${allowed.join(' or ')}.`;
}
