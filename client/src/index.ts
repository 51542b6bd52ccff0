/** The client of the Club Management Service: all its exports. */
export { type Client, createClient } from './client.js';
export type { ClientOptions, RetryLimits, Wait } from './connection.js';
export { type CsvOptions, csv } from './csv.js';
export {
  EventsForgottenError,
  isProblem,
  NoAnswerError,
  ProblemError,
  UnexpectedAnswerError,
} from './errors.js';
export type * from './generated/resources.js';
export type { Health } from './health.js';
export type { List, Page } from './list.js';
export type { Token } from './token.js';
export type * from './types.js';
