/** An error that is sent as `application/problem+json`. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly extensions: Record<string, unknown> = {},
  ) {
    super(code);
  }

  toBody(instance: string): Record<string, unknown> {
    const { status, code, extensions } = this;
    return { type: `/problems/${code}`, title: code, status, instance, code, ...extensions };
  }
}

const SQLSTATES: Record<string, [number, string]> = {
  SH001: [404, 'shift_not_found'],
  SH002: [422, 'shift_in_past'],
  SH003: [409, 'already_signed_up'],
  SH004: [409, 'shift_full'],
  SH005: [404, 'signup_not_found'],
  TK001: [422, 'invalid_task_transition'],
  TK002: [403, 'task_transition_forbidden'],
  TK003: [403, 'task_assign_forbidden'],
  TK004: [409, 'task_version_conflict'],
  TK005: [409, 'task_already_assigned'],
  TK006: [404, 'task_not_found'],
};

/** The response to an error: a thrown Refusal, one by its SQLSTATE, or else a 500. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) {
    return error;
  }
  const known = SQLSTATES[(error as { code?: string }).code ?? ''];
  if (known === undefined) {
    console.error(error);
  }
  return new Refusal(...(known ?? [500, 'internal_error']));
}
