// Generated from the OpenAPI document by make snapshot; make verify fails when it is stale.

export { type Shifts, shiftsOf as shifts } from '../shifts.js';
export { type Signups, signupsOf as signups } from '../signups.js';
export { type Tasks, tasksOf as tasks } from '../tasks.js';
export { type Attendance, attendanceOf as attendance } from '../attendance.js';
export { type Calendar, calendarOf as calendar } from '../calendar.js';
export { type Clubs, clubsOf as clubs } from '../clubs.js';
export { type Copies, copiesOf as copies } from '../copies.js';
export { type Events, eventsOf as events } from '../events.js';
export { type Hours, hoursOf as hours } from '../hours.js';
export { type Members, membersOf as members } from '../members.js';
export { type Waits, waitsOf as waits } from '../waits.js';
