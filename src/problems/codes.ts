/**
 * Every code a refusal can carry: its status, its title and what it tells the caller to do.
 *
 * Clients switch on the code, so a code never changes its meaning. Nothing else in the project knows a status.
 */
export const codes = {
  malformed_json: [
    400,
    'Malformed JSON',
    'The body is not valid JSON in UTF-8. Check quotes, commas and brackets.',
  ],
  validation_failed: [
    400,
    'Validation failed',
    'The body does not have the expected form. `errors` names each fault.',
  ],
  invalid_parameter: [
    400,
    'Invalid parameter',
    'The path or the query string is not as expected. `errors` names each fault.',
  ],
  invalid_cursor: [
    400,
    'Invalid cursor',
    'The cursor belongs to another list, order, filter or club. Start again without one, and follow the Link header.',
  ],
  tenant_header_missing: [
    400,
    'Tenant header missing',
    'Send the header X-Tenant-Id with the id of a club. GET /api/clubs/me lists your clubs.',
  ],
  tenant_header_invalid: [
    400,
    'Tenant header invalid',
    'X-Tenant-Id must be sent once and hold one UUID. GET /api/clubs/me lists your clubs.',
  ],
  test_user_invalid: [
    400,
    'Test user invalid',
    'X-Test-UserId must be sent once and hold the UUID of a member.',
  ],

  idempotency_key_invalid: [
    400,
    'Idempotency key invalid',
    'Idempotency-Key must be sent once and hold 1 to 255 visible ASCII characters, such as a UUID.',
  ],

  unauthenticated: [
    401,
    'Not authenticated',
    'Send a token of the identity provider: Authorization: Bearer <token>.',
  ],
  invalid_token: [
    401,
    'Invalid token',
    'The token is not valid here. Get a new one from the identity provider.',
  ],

  tenant_forbidden: [
    403,
    'No access to this club',
    'The club does not exist, or your token gives you no role in it. GET /api/clubs/me lists your clubs.',
  ],
  insufficient_role: [403, 'Insufficient role', 'Your role in this club does not allow this.'],
  task_transition_forbidden: [
    403,
    'Not your step',
    'Only the assignee or a Manager takes this step. `allowedTransitions` lists what you may do.',
  ],
  task_assign_forbidden: [
    403,
    'Not yours to assign',
    'Members take open tasks for themselves; only a Manager assigns a task to somebody else.',
  ],

  task_not_found: [404, 'Task not found', 'This club has no task with that id.'],
  shift_not_found: [404, 'Shift not found', 'This club has no shift with that id.'],
  member_not_found: [404, 'Member not found', 'This club has no member with that id.'],
  signup_not_found: [404, 'Signup not found', 'You are not signed up for this shift.'],
  route_not_found: [404, 'Route not found', 'There is nothing at this path.'],
  method_not_allowed: [
    405,
    'Method not allowed',
    'This path does not have that method. The header Allow lists those it has.',
  ],

  shift_full: [
    409,
    'Shift full',
    'Every place of this shift is taken. Choose another shift, or try again after somebody cancels.',
  ],
  already_signed_up: [
    409,
    'Already signed up',
    'You are signed up for this shift. There is nothing left to do.',
  ],
  task_version_conflict: [
    409,
    'Task was changed',
    'Somebody changed the task since you read it. Read it again and repeat your change on `currentVersion`.',
  ],
  task_already_assigned: [
    409,
    'Task already assigned',
    'Somebody else has taken this task. Read it again to see who.',
  ],
  shift_version_conflict: [
    409,
    'Shift was changed',
    'Somebody changed the shift since you read it. Read it again and repeat your change on `currentVersion`.',
  ],
  capacity_below_signups: [
    409,
    'Capacity below signups',
    'More members are signed up than the capacity you ask for. Choose at least `signupCount`.',
  ],
  idempotency_in_progress: [
    409,
    'Request in progress',
    'A request with this Idempotency-Key is still being worked on. Send it again in a moment.',
  ],

  precondition_failed: [
    412,
    'Precondition failed',
    'If-Match names another version than the current one. Read it again.',
  ],
  payload_too_large: [413, 'Payload too large', 'The body is larger than 128 KiB.'],
  unsupported_media_type: [
    415,
    'Unsupported media type',
    'Send the body as application/json; a PATCH also as application/merge-patch+json.',
  ],

  invalid_task_transition: [
    422,
    'Invalid task transition',
    'A task does not take this step. `allowedTransitions` lists what you may do.',
  ],
  shift_in_past: [422, 'Shift in the past', 'The shift has started, so its signups are closed.'],
  assignee_not_member: [
    422,
    'Assignee is no member',
    '`assigneeId` must be the id of a member of this club. GET /api/members lists them.',
  ],
  idempotency_key_reused: [
    422,
    'Idempotency key reused',
    'This Idempotency-Key belongs to another request of yours. Take a new key for a new request.',
  ],

  rate_limited: [
    429,
    'Too many requests',
    'You have asked as often as you may in a minute. Go on after the time in Retry-After.',
  ],

  internal_error: [500, 'Internal error', 'This is our fault. Report it with the `requestId`.'],
  service_unavailable: [
    503,
    'Service unavailable',
    'The service cannot answer right now. Try again after the time in Retry-After.',
  ],
} as const satisfies Record<string, readonly [status: number, title: string, detail: string]>;

export type Code = keyof typeof codes;
