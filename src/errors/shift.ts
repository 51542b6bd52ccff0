/** The error of every resource that names a shift in its path. */
import { SHIFT_ID } from '../examples.js';
import { defineError } from './problem.js';

export const shiftNotFound = defineError({
  code: 'shift_not_found',
  status: 404,
  title: 'Shift not found',
  detail: 'This club has no shift with that id. GET /api/shifts lists them.',
  meaning:
    'No shift of this club has this id, or this `batchId`: it was deleted, belongs to another club, or never existed.',
  fix: 'Take an id from `GET /api/shifts`, and check that `X-Tenant-Id` is the club you mean.',
  sqlState: 'SH001',
  example: { request: `GET /api/shifts/${SHIFT_ID}` },
});
