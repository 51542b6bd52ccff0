/** The client of the Club Management Service: all that it gives. */
export { type Client, createClient } from './client.js';
export type { Clubs } from './clubs.js';
export type { ClientOptions, Patience, Wait } from './connection.js';
export { isProblem, NoAnswerError, ProblemError, UnexpectedAnswerError } from './errors.js';
export type { Health } from './health.js';
export type { List } from './list.js';
export type { Members } from './members.js';
export type { Shifts } from './shifts.js';
export type { Tasks } from './tasks.js';
export type { Token } from './token.js';
export type * from './types.js';
