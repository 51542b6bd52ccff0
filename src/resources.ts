/** The resources of the API. A new one is one more line. */
export { clubs } from './clubs/routes.js';
export { members } from './members/routes.js';
export { shifts } from './shifts/routes.js';
export { tasks } from './tasks/routes.js';
