import type { List } from './list.js';
import type { Sender } from './send.js';
import type {
  AttendanceDto,
  AttendanceFilter,
  CallOptions,
  RecordAttendanceRequest,
  ShiftAttendanceDto,
} from './types.js';

export interface Attendance {
  /** Records by the start of the shift: all for a Manager, for a Member their own. */
  list(filter?: AttendanceFilter, options?: CallOptions): List<AttendanceDto>;
  /** Everybody who signed up for a shift or has a record of it, by name. */
  ofShift(shiftId: string, options?: CallOptions): List<ShiftAttendanceDto>;
  get(shiftId: string, memberId: string, options?: CallOptions): Promise<AttendanceDto>;
  /**
   * Records whether a member came. With the `version` that was read, it rejects with `attendance_version_conflict` if the record
   * was changed meanwhile; with `onlyNew`, with `precondition_failed` if there is a record already.
   */
  record(
    shiftId: string,
    memberId: string,
    record: RecordAttendanceRequest,
    options?: CallOptions & { onlyNew?: boolean },
  ): Promise<AttendanceDto>;
  /** Deletes a record if its version is unchanged; by the two ids only, without this check. */
  delete(
    record: { shiftId: string; memberId: string; version?: number },
    options?: CallOptions,
  ): Promise<void>;
}

/** The methods for attendance. */
export function attendanceOf({ send, list }: Sender): Attendance {
  return {
    list: (filter = {}, options = {}) => list('listAttendance', filter, options),
    ofShift: (id, options = {}) => list('listShiftAttendance', {}, { id, ...options }),
    get: (id, memberId, options) => send('getAttendance', { id, memberId, ...options }),
    record: (id, memberId, record, options) =>
      send('recordAttendance', { id, memberId, body: { ...record }, ...options }),
    delete: ({ shiftId, memberId, version }, options) =>
      send('deleteAttendance', { id: shiftId, memberId, ifVersion: version, ...options }),
  };
}
