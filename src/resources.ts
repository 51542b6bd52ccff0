/** The resources of the API. To add a resource, add a line here, in the order of the imported files. */

export { hours } from './attendance/hours-routes.js';
export { attendance } from './attendance/routes.js';
export { calendar } from './calendar/routes.js';
export { clubs } from './clubs/routes.js';
export { copies } from './copies/routes.js';
export { events } from './events/routes.js';
export { members } from './members/routes.js';
export { shifts } from './shifts/routes.js';
export { signups } from './signups/routes.js';
export { tasks } from './tasks/routes.js';
export { waits } from './waits/routes.js';
