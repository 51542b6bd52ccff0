import { defineError } from './problem.js';

/** Not one of the common errors: only a service with TEST_USER_HEADER returns it. */
export const testUserInvalid = defineError({
  code: 'test_user_invalid',
  status: 400,
  title: 'Test user invalid',
  detail: 'X-Test-UserId must be sent once and contain the UUID of a member.',
  meaning: 'Only in test set-ups: the header that names the member to act as does not contain one UUID.',
  fix: 'Send the `id` of a member from `GET /api/members`, or omit the header to act as yourself.',
  example: { request: 'GET /api/tasks' },
});
