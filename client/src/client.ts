import { type Clubs, clubsOf } from './clubs.js';
import { type ClientOptions, type Connection, connect } from './connection.js';
import { type Health, healthOf } from './health.js';
import { type Members, membersOf } from './members.js';
import { senderOf } from './send.js';
import { type Shifts, shiftsOf } from './shifts.js';
import { type Tasks, tasksOf } from './tasks.js';

export interface Client {
  readonly clubs: Clubs;
  readonly members: Members;
  readonly tasks: Tasks;
  readonly shifts: Shifts;
  readonly health: Health;
  /** The same client in another club. */
  club(id: string): Client;
}

/**
 * Makes a client of the Club Management Service.
 *
 * @throws TypeError when baseUrl is no address
 */
export function createClient(options: ClientOptions): Client {
  return clientOf(connect(options), options.clubId);
}

function clientOf(connection: Connection, clubId: string | undefined): Client {
  const sender = senderOf(connection, clubId);
  return {
    clubs: clubsOf(sender),
    members: membersOf(sender),
    tasks: tasksOf(sender),
    shifts: shiftsOf(sender),
    health: healthOf(sender),
    club: (id) => clientOf(connection, id),
  };
}
