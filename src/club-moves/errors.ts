import { OperatorError } from '../database/errors.js';

/** The club cannot move, or not further; the message says why and what to do. */
export class ClubMoveRefused extends OperatorError {
  override name = 'ClubMoveRefused';
}
