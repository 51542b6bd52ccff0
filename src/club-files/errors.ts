import { OperatorError } from '../database/errors.js';

/** The club cannot be exported or imported; the message says why and what to do. Nothing was changed. */
export class ClubFileRefused extends OperatorError {
  override name = 'ClubFileRefused';
}
